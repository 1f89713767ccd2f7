package jnvdocker.process;

import jnvdocker.posix.ProcessId;

import java.util.List;
import java.util.Map;

/**
 * What is mounted in mount namespaces that are root's.
 *
 * @param oldest the oldest process that has each of the folders mounted
 * @param unread of each namespace that has more mounts than are read, a process: anything may be
 *     mounted there
 */
public record SeenMounts(Map<MountedFolder, ProcessId> oldest, List<ProcessId> unread) {
    public SeenMounts {
        oldest = Map.copyOf(oldest);
        unread = List.copyOf(unread);
    }
}
