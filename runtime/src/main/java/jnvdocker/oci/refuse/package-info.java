/**
 * Makes a container run a program of ours that says why its GPUs are refused, in place of its own.
 * Start at {@link RefusedProcess}.
 */
package jnvdocker.oci.refuse;
