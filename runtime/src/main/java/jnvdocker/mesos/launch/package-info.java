/**
 * What a Mesos agent says of a container that it starts, and what is added to that on its way to
 * the agent's own helper. Start at {@link LaunchInfo} and {@link ContainerConfig}.
 */
package jnvdocker.mesos.launch;
