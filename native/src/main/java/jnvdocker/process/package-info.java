/**
 * The processes of this machine: which are there, what they have open and mounted, and which
 * container each of them is of. Start at {@link Processes}, which {@link ProcFolder} answers.
 */
package jnvdocker.process;
