/**
 * Docker's volume plugin protocol, version 1: dockerd sends requests to a Unix socket, JSON over
 * HTTP. Start at {@link VolumePlugin}; {@link PluginVolumes} is what volumes must be able to do.
 */
package jnvdocker.volume.plugin;
