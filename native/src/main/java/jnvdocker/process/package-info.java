/** The processes of this machine: which are there, and which container each of them is of. */
package jnvdocker.process;
