/**
 * The processes of this machine: their open devices, their mounts and their containers. Start at
 * {@link Processes}, which {@link ProcFolder} implements.
 */
package jnvdocker.process;
