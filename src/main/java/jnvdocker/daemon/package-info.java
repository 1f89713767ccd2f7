/**
 * The daemon: its directories, configuration and sockets, and the wiring of its parts. Start at
 * {@link Daemon}.
 *
 * <p>It has more than 3,000 lines, of which a third is the configuration: only the wiring reads it.
 */
package jnvdocker.daemon;
