/**
 * Leases on disk, in SQLite and in the claims' own files; those that live, and the claims that are
 * not forgotten, are in memory, too ({@link Ledger}), where each change is followed. Takes values,
 * and inspects nothing else; that a GPU has one holder is the database's rule (schema.sql). Start
 * at {@link LeaseRegistry} and {@link LeaseWriter}, by which alone leases begin, change and end.
 *
 * <p>It has more than 3,000 lines, since all SQL is in it: a row leaves it as a value only.
 */
package jnvdocker.registry;
