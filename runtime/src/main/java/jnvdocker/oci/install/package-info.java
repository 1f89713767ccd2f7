/**
 * Lays out our OCI runtime, and registers it with engines. Start at {@link
 * jnvdocker.oci.install.RuntimeProgram}.
 */
package jnvdocker.oci.install;
