package jnvdocker.volume.plugin;

import java.nio.file.Path;
import java.util.Map;

/**
 * What {@code docker volume inspect} shows of a volume.
 *
 * @param mountpoint the folder that containers get
 * @param status facts for people, shown as they are
 */
public record VolumeInfo(String name, Path mountpoint, Map<String, Object> status) {}
