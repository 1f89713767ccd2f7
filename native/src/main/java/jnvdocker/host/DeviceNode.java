package jnvdocker.host;

import java.nio.file.Path;

/**
 * A character device node of the driver.
 *
 * @param name what it is called in a container: {@code /dev/nvidia0}
 * @param hostPath where it is on this machine
 */
public record DeviceNode(String name, Path hostPath, int major, int minor) {}
