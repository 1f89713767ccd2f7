/**
 * Pods of Kubernetes: their leases, and the requests of a kubelet to a device plugin. The packages
 * before this one know of pods as of any other {@link jnvdocker.holder.HolderKind}. Decides, and
 * speaks no protocol. Start at {@link jnvdocker.kubernetes.PodLeases}.
 */
package jnvdocker.kubernetes;
