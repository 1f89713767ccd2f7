/**
 * How a Mesos agent is set up to ask us before it starts a container: its flags, its launcher's
 * folder. Start at {@link LauncherFolder}.
 */
package jnvdocker.mesos.agent;
