/**
 * Restores what the registry has lost or never had: after a damage, a restart, or a start of a
 * container that no daemon saw. {@link Reconciler} compares the registry with the engine's volumes
 * and containers, with the claims' files and with what runs, and gives the holders that run their
 * claims and leases back ({@link Adoption}). A claim has two copies for that: its file, and the
 * options of its volume ({@link ClaimOptions}).
 */
package jnvdocker.recovery;
