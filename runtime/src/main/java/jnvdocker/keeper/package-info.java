/**
 * Ends leases. The {@link Keeper} is the one that does that: holders that are gone are seen to be
 * so by its thread, on what {@link jnvdocker.holder.Evidence} shows; all others that want an end
 * request it from the {@link Keeper}, which ends a lease only if the lease is still as they have
 * seen it. A decision that begins the next lease of a holder calls the same method in its own
 * transaction, since nobody may get the GPUs in between. What an engine says of a container that
 * may start again comes from {@link Comebacks}. {@link HolderStops} stops holders whose time is
 * over, {@link HistoryKeeper} deletes what has ended long ago, and {@link Patience} waits for ends
 * on behalf of a request. Start at {@link Keeper}.
 */
package jnvdocker.keeper;
