/**
 * The daemon: its folders, its configuration, its sockets, and what is wired to what. Start at
 * {@link Daemon}.
 */
package jnvdocker.daemon;
