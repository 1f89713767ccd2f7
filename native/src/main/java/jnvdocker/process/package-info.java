/**
 * The processes of this machine: which are there, what they have mounted, and which container each
 * of them is of.
 */
package jnvdocker.process;
