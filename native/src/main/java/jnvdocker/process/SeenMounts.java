package jnvdocker.process;

import jnvdocker.posix.ProcessId;

import java.util.List;
import java.util.Map;

/**
 * The mounts in root's mount namespaces.
 *
 * @param oldest for each directory the oldest process that has it mounted
 * @param unread a process of each namespace with more mounts than the limits allow: anything may be
 *     mounted there
 */
public record SeenMounts(Map<MountedFolder, ProcessId> oldest, List<ProcessId> unread) {
    public SeenMounts {
        oldest = Map.copyOf(oldest);
        unread = List.copyOf(unread);
    }
}
