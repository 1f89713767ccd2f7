/**
 * Who typed a command, and what is asked of the caller's side of the connection. Start at {@link
 * Caller}.
 */
package jnvdocker.command.caller;
