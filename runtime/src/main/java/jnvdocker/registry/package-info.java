/**
 * Leases on disk, in SQLite and in the claims' own files. Takes values, and looks at nothing else;
 * that a GPU has one holder is the database's rule (schema.sql). Start at {@link LeaseRegistry}.
 */
package jnvdocker.registry;
