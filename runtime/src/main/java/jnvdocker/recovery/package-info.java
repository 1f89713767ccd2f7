/**
 * Restores what the registry has lost or never had: after a damage, a restart, or a start of a
 * container that no daemon saw. {@link Reconciler} compares the registry with the engine's volumes
 * and containers; {@link Recovery} compares it with the claims' files and with what runs, and gives
 * the holders that run their claims and leases back.
 */
package jnvdocker.recovery;
