/**
 * {@code jnvdocker mesos}, and the answers to the hook when an agent starts a task. Start at {@link
 * MesosCommand}.
 */
package jnvdocker.command.mesos;
