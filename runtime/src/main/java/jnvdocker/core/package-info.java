/**
 * The parts of the packages before this one, put together ({@link LeaseParts}), and what commands
 * may request of them: {@link Leases} takes, ends and shows leases; {@link GpuBoard} combines all
 * that is known about each GPU.
 */
package jnvdocker.core;
