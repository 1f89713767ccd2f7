/**
 * Which GPUs a user requests, as {@code --gpus} and NV_GPU spell it. Start at {@link GpuRequest};
 * {@link GpuResolver} finds the GPUs that ids mean.
 */
package jnvdocker.request;
