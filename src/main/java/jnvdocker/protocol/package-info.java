/**
 * The protocol of the client and the daemon: frames on a Unix socket. The C client has the other
 * half. Start at {@link ClientConnection}.
 */
package jnvdocker.protocol;
