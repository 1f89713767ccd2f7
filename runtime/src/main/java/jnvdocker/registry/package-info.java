/**
 * Leases on disk, in SQLite and in the claims' own files; those that live, and the claims that are
 * not forgotten, are in memory, too ({@link Ledger}), where each change is followed. Takes values,
 * and inspects nothing else; that a GPU has one holder is the database's rule (schema.sql). Start
 * at {@link LeaseRegistry} and {@link LeaseWriter}, by which alone leases begin, change and end.
 */
package jnvdocker.registry;
