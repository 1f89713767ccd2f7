/**
 * {@code jnvdocker mesos}, and what the hook asks when an agent starts a task. Start at {@link
 * MesosCommand}.
 */
package jnvdocker.command.mesos;
