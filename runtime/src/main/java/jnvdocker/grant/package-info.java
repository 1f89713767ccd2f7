/**
 * Gives GPUs to holders and takes them back, on evidence from processes, mounts and engines. Start
 * at {@link Leases}; {@link Reservations} begins a lease, {@link ClaimVolumes} has docker take it,
 * {@link Keeper} ends it, {@link Reconciler} restores lost leases.
 */
package jnvdocker.grant;
