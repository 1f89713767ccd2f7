/** Docker's volume plugin protocol, version 1: dockerd asks on a Unix socket, JSON over HTTP. */
package jnvdocker.volume.plugin;
