/**
 * The answers to our OCI runtime, and {@code jnvdocker runtime …}. Start at {@link
 * jnvdocker.command.runtime.RuntimeCreate}.
 */
package jnvdocker.command.runtime;
