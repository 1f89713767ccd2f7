/**
 * The state of GPUs as their driver reports it: NVIDIA's management library, libnvidia-ml, by JNA.
 * A call may take seconds or never return, so no code that answers a request makes one.
 */
package jnvdocker.nvml;
