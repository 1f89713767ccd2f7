/**
 * The parts of the packages before this one, put together ({@link LeaseParts}), and what commands
 * request of them: {@link RunClaims} makes the claims of what {@code jnvdocker run} starts, {@link
 * Releases} ends leases by command, {@link Cordoning} takes GPUs out, and {@link Leases} shows
 * leases, GPUs and the queue; {@link GpuBoard} combines all that is known about each GPU.
 */
package jnvdocker.core;
