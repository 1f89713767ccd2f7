/**
 * Turns requests into leases. {@link Grants} is the one way: a request is a bid, decided and
 * written in one step, in {@link jnvdocker.registry.LeaseRegistry#decide}, and nobody else begins
 * or ends a lease meanwhile. The request of a client ({@link jnvdocker.lease.Request}) is an {@link
 * OpenRequest} until it is met or refused; one that waits has a {@link Place} in the {@link
 * WaitingQueue}, which {@link QueueKeeper} serves. {@link Reservations} says what becomes of the
 * GPUs then. Start at {@link Grants#take}.
 */
package jnvdocker.grant;
