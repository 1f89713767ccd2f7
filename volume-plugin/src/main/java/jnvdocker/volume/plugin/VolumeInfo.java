package jnvdocker.volume.plugin;

import java.nio.file.Path;
import java.util.Map;

/**
 * A volume as {@code docker volume inspect} shows it.
 *
 * @param mountpoint the directory that containers get
 * @param status facts for people, shown as they are
 */
public record VolumeInfo(String name, Path mountpoint, Map<String, Object> status) {}
