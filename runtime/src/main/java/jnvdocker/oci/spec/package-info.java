/**
 * What an engine wants created: its texts about a container, what these ask for, and what is edited
 * in them. Chooses no GPU. Start at {@link jnvdocker.oci.spec.GpuWishes}.
 */
package jnvdocker.oci.spec;
