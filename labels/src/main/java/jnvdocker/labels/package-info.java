/**
 * The needs of images: their labels and variables, and whether a host's driver meets them. No I/O.
 * Start at {@link GpuNeeds}.
 */
package jnvdocker.labels;
