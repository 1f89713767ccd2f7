/**
 * Ends leases. The {@link Keeper} is the one thread that does that, on what {@link
 * jnvdocker.holder.Evidence} shows; what an engine says of a container that may start again comes
 * from {@link Comebacks}. {@link OverdueKeeper} has holders stopped whose time is over, {@link
 * HistoryKeeper} deletes what has ended long ago, and {@link Patience} waits for ends on behalf of
 * a request. Start at {@link Keeper}.
 */
package jnvdocker.keeper;
