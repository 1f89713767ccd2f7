/**
 * The holders of GPUs, as values, and the choice of GPUs: no I/O. A claim is a container's right to
 * request certain GPUs and lives as long as the container; a lease is one period of holding them.
 * Start at {@link Lease}, then {@link GpuChoice}, which decides which GPUs {@code --gpus 1} gets.
 *
 * <p>It has more than 3,000 lines: the rules (choice, shares, limits, bookings, order of the queue)
 * take the same values, and a reader of one has to see the others.
 */
package jnvdocker.lease;
