/**
 * The launch of a container by a Mesos agent, and the additions to it on its way to the agent's own
 * helper. Start at {@link LaunchInfo} and {@link ContainerConfig}.
 */
package jnvdocker.mesos.launch;
