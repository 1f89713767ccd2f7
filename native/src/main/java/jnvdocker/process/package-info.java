/**
 * The processes of this machine: their open devices, their mounts and their containers. Start at
 * {@link Processes}, which {@link ProcDirectory} implements.
 *
 * <p>It has 3,000 lines, since every reader of {@code /proc} and of cgroups is in it: each fact
 * about a process has one source.
 */
package jnvdocker.process;
