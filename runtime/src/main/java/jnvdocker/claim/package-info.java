/**
 * Has docker take leases: {@link ClaimVolumes} answers its verbs about the volumes of claims, and
 * {@link ClaimStarts} takes the lease, or refuses the start, when docker mounts one. A container
 * that an engine could not start, or not start again, is started when it can have its GPUs ({@link
 * RefusedStarts}); volumes that are of no use are removed by {@link ClaimPrune}.
 */
package jnvdocker.claim;
