/**
 * The daemon: its directories, sockets and configuration, its features ({@link Features}), and the
 * wiring of its parts. Start at {@link Daemon}.
 *
 * <p>What a feature is does not belong here: the list names each in one line.
 */
package jnvdocker.daemon;
