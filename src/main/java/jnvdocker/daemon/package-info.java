/** The daemon: its folders, its configuration, its sockets, and what is wired to what. */
package jnvdocker.daemon;
