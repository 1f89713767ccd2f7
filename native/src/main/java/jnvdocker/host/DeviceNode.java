package jnvdocker.host;

import java.nio.file.Path;

/**
 * A character device node of the driver.
 *
 * @param name its name in a container: {@code /dev/nvidia0}
 * @param hostPath its place on this machine
 */
public record DeviceNode(String name, Path hostPath, int major, int minor) {}
