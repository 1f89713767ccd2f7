/**
 * Leases of containers that our OCI runtime creates: {@link OciContainers} takes the lease of a
 * creation, and {@link OciKeeper} learns of the container's first process and of its end, and
 * removes its files. {@link EditedContainers} marks the containers whose commands are edited, too.
 */
package jnvdocker.oci.lease;
