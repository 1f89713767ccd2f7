/**
 * The daemon: its directories, configuration and sockets, and the wiring of its parts. Start at
 * {@link Daemon}.
 */
package jnvdocker.daemon;
