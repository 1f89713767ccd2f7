package jnvdocker.process;

import jnvdocker.posix.ProcessId;

import java.util.List;

/**
 * The processes that have devices of the searched majors open.
 *
 * @param users the oldest first
 * @param beyond processes of which not all descriptors were checked, since they, or all processes
 *     of their user together, have too many: the rest is scanned in the background
 */
public record OpenDevices(List<DeviceUser> users, List<Partial> beyond) {
    /** No process has any open. */
    public static final OpenDevices NONE = new OpenDevices(List.of(), List.of());

    public OpenDevices {
        users = List.copyOf(users);
        beyond = List.copyOf(beyond);
    }

    /**
     * @param pending whether it has never been scanned, so that it may have anything open
     */
    public record Partial(ProcessId process, Credentials credentials, boolean pending) {}
}
