package jnvdocker.process;

import jnvdocker.posix.ProcessId;

import java.util.List;

/**
 * Who has devices of a major open.
 *
 * @param users in order of age
 * @param beyond processes of which not all descriptors were looked at for that, since they, or all
 *     of their user together, have too many: their rest is looked through in the background
 */
public record OpenDevices(List<DeviceUser> users, List<Beyond> beyond) {
    /** Nobody has any. */
    public static final OpenDevices NONE = new OpenDevices(List.of(), List.of());

    public OpenDevices {
        users = List.copyOf(users);
        beyond = List.copyOf(beyond);
    }

    /**
     * @param pending whether it has never been looked through: then it may have anything open
     */
    public record Beyond(ProcessId process, Credentials credentials, boolean pending) {}
}
