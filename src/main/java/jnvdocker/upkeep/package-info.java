/**
 * Removes remains: volumes, claims, images' remains, and all of jnvdocker when it is uninstalled.
 * Start at {@link Prune}.
 */
package jnvdocker.upkeep;
