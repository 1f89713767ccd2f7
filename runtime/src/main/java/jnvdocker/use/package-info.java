/**
 * The uses of GPUs, whoever gave them: those that processes have open, and those that containers
 * were given. Start at {@link SeenUses}.
 */
package jnvdocker.use;
