/** What the host has: its driver, its GPUs, their device nodes. */
package jnvdocker.host;
