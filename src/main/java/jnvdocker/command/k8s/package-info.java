/**
 * {@code jnvdocker k8s …}: the labels that describe this host as a node of Kubernetes. Start at
 * {@link K8sCommand}.
 */
package jnvdocker.command.k8s;
