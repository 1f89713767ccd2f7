/**
 * The creation of a container by an engine: its texts, the request in them, and the edits in them.
 * Chooses no GPU. Start at {@link jnvdocker.oci.spec.GpuWishes}.
 */
package jnvdocker.oci.spec;
