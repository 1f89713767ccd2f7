/**
 * The CUDA version that the driver supports, which its own library tells a child process. Start at
 * {@link CudaDriver}.
 */
package jnvdocker.cuda;
