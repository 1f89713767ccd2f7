/**
 * Pods of Kubernetes: their leases, and the requests of a kubelet to a device plugin. The packages
 * before this one know of pods as of any other {@link jnvdocker.holder.HolderKind}. Decides, and
 * speaks no protocol. Start at {@link jnvdocker.kubernetes.PodLeases}.
 *
 * <p>It has more than 3,000 lines: the holder of a pod's GPUs is known by four kinds of evidence
 * (the kubelet's list, its checkpoint, cgroups, resource claims), and nothing outside reads any of
 * them.
 */
package jnvdocker.kubernetes;
