package jnvdocker.container;

/**
 * A volume that docker mounts read-only into the container.
 *
 * @param volume its name: {@code nvidia_driver_535.104.05}
 * @param driver the volume plugin that serves it
 * @param target the directory in the container
 */
public record VolumeMount(String volume, String driver, String target) {}
