/**
 * {@code jnvdocker k8s …}: what a node of Kubernetes is told of this host. Start at {@link
 * K8sCommand}.
 */
package jnvdocker.command.k8s;
