/**
 * The launch of a container by a Mesos agent: its lease, how its holder lives ({@link MesosKind}),
 * and the additions to it on its way to the agent's own helper. Start at {@link MesosLaunch}.
 */
package jnvdocker.mesos.launch;
