/**
 * Knows which holders do not use their GPUs. Start at {@link IdleHolders}; {@link IdleKeeper} looks
 * for them.
 */
package jnvdocker.idle;
