/**
 * A driver of Dynamic Resource Allocation, in place of a device plugin: publishes the host's GPUs
 * to a cluster's API server, in one resource slice, and serves a kubelet that has the resource
 * claims of pods prepared. Leases are taken and ended by {@link jnvdocker.kubernetes.PodClaims};
 * here is the protocol alone. Nothing here runs on a thread that answers docker. Start at {@link
 * jnvdocker.kubernetes.dra.DraDriver}.
 */
package jnvdocker.kubernetes.dra;
