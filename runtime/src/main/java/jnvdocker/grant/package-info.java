/**
 * Gives GPUs to holders and takes them back. {@link Grants} is the one way to a lease: a request is
 * a bid, decided and written in one step, in {@link jnvdocker.registry.LeaseRegistry#decide}, and
 * nobody else begins or ends a lease meanwhile. All that differs between kinds of holders is in one
 * {@link HolderKind} each. The {@link Keeper} is the one thread that ends leases, on what a {@link
 * HostView} shows; what an engine says comes from {@link Comebacks}. Start at {@link Leases} and
 * {@link Reservations}; {@link ClaimStarts} has docker take a lease, {@link Reconciler} restores
 * lost ones. How a container is made to use its GPUs does not belong here.
 */
package jnvdocker.grant;
