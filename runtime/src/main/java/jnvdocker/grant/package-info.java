/**
 * Turns requests into leases. {@link Grants} is the one way: a request is a bid, decided and
 * written in one step, in {@link jnvdocker.registry.LeaseRegistry#decide}, and nobody else begins
 * or ends a lease meanwhile. {@link Reservations} takes the requests of clients ({@link
 * jnvdocker.lease.Request}), which are decided by {@link ClientBid}; those that wait have a {@link
 * Place} in the {@link WaitingQueue}, which {@link QueueKeeper} serves. Start at {@link
 * Reservations#take}.
 */
package jnvdocker.grant;
