/**
 * The processes of this machine: their open devices, their mounts and their containers. Start at
 * {@link Processes}, which {@link ProcDirectory} implements.
 */
package jnvdocker.process;
