/**
 * Who uses GPUs, whoever gave them: what processes have open, and what containers were given. Start
 * at {@link SeenUses}.
 */
package jnvdocker.use;
