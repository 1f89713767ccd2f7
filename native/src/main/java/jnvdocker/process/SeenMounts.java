package jnvdocker.process;

import jnvdocker.posix.ProcessId;

import java.util.List;
import java.util.Map;

/**
 * The mounts in root's mount namespaces.
 *
 * @param holders for each directory the oldest process of each namespace that has it mounted, the
 *     oldest of all first
 * @param unread a process of each namespace with more mounts than the limits allow: anything may be
 *     mounted there
 */
public record SeenMounts(Map<MountedDirectory, List<ProcessId>> holders, List<ProcessId> unread) {
    public SeenMounts {
        holders = Map.copyOf(holders);
        unread = List.copyOf(unread);
    }
}
