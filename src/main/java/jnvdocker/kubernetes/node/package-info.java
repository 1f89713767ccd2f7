/**
 * Kubernetes on this host, as the daemon starts it: its feature, its keys, its check, and {@code
 * jnvdocker k8s}, which prints the labels that describe the host as a node. Start at {@link
 * KubernetesFeature}.
 *
 * <p>{@code jnvdocker.kubernetes} knows the leases of pods and speaks no protocol, {@code kubelet}
 * and {@code dra} beside this package speak those of a kubelet and of a cluster.
 */
package jnvdocker.kubernetes.node;
