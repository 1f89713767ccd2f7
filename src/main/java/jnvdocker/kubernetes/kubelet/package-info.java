/**
 * Speaks with the kubelet of this host, over gRPC: serves it device plugins, registers them, and
 * queries it for the containers that have devices. Start at {@link
 * jnvdocker.kubernetes.kubelet.KubeletLink}.
 */
package jnvdocker.kubernetes.kubelet;
