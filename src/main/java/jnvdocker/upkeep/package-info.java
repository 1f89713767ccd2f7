/**
 * Removes what is left over: volumes, claims, images' remains, and all of it when jnvdocker goes.
 * Start at {@link Prune}.
 */
package jnvdocker.upkeep;
