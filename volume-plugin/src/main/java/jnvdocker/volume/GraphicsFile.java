package jnvdocker.volume;

import java.nio.file.Path;

/**
 * A file of a driver volume by which programs find the driver's Vulkan, EGL or OptiX.
 *
 * @param inVolume relative to the volume's directory: {@code share/vulkan/icd.d/nvidia_icd.json}
 * @param target where programs in a container search for it: {@code
 *     /etc/vulkan/icd.d/nvidia_icd.json}
 */
public record GraphicsFile(Path inVolume, String target) {}
