/** Who uses GPUs, whoever gave them: what processes have open, and what containers were given. */
package jnvdocker.use;
