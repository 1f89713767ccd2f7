/**
 * Which CUDA version the driver supports, as its own library tells when a child process asks it.
 * Start at {@link CudaDriver}.
 */
package jnvdocker.cuda;
