/** How the client and the daemon talk: frames on a Unix socket. The C client has the other half. */
package jnvdocker.protocol;
