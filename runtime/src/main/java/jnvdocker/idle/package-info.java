/**
 * Knows which holders do not use their GPUs. Start at {@link IdleHolders}; {@link IdleKeeper} finds
 * them.
 */
package jnvdocker.idle;
