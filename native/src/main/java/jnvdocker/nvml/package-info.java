/**
 * The state of GPUs as their driver tells it: NVIDIA's management library, libnvidia-ml, by JNA. A
 * call may take seconds or never return, so nothing that answers anybody makes one.
 */
package jnvdocker.nvml;
