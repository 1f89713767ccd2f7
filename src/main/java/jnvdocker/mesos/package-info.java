/**
 * Mesos: tasks of an agent on this host get GPUs from the registry that Docker's containers get
 * them from. Start at {@link jnvdocker.mesos.MesosFeature}.
 *
 * <p>{@code jnvdocker mesos install} puts our {@code mesos-containerizer} (native/mesos) in front
 * of the agent's own; when the agent starts a task, that program runs {@code jnvdocker mesos
 * launch}, and {@link jnvdocker.mesos.launch.MesosLaunch} takes the lease and edits the launch. All
 * that is about Mesos is here; the core has its origin alone, {@code Origin.MesosTask}, since it
 * stores and shows its leases.
 */
package jnvdocker.mesos;
