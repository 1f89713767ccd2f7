/**
 * The uses of GPUs, whether this daemon assigned them or not: those that processes have open, and
 * those that containers were given. Start at {@link SeenUses}.
 */
package jnvdocker.use;
