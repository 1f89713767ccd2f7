/**
 * The caller of a command, and questions to the caller's side of the connection. Start at {@link
 * Caller}.
 */
package jnvdocker.command.caller;
