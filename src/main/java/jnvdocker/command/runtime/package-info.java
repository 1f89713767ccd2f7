/**
 * What our OCI runtime asks, and {@code jnvdocker runtime …}. Start at {@link
 * jnvdocker.command.runtime.RuntimeCreate}.
 */
package jnvdocker.command.runtime;
