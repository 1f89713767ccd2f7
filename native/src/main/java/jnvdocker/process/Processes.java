package jnvdocker.process;

import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.regex.Pattern;

/**
 * What is known of this machine's processes. A process that goes away while it is looked at is no
 * error. What can't be read for any other reason is one, an {@link UncheckedIOException}: an
 * unknown process must not be taken for a dead one.
 */
public interface Processes {
    /** Those of {@code /proc}, the real one whatever counts as {@code /} elsewhere. */
    static Processes ofThisMachine() {
        return new ProcFolder(Path.of("/proc"));
    }

    /**
     * A process that is there now. Empty when there is none of that number or when it is a zombie,
     * which is dead, unless threads of it live on.
     */
    Optional<ProcessId> find(int pid);

    default boolean isAlive(ProcessId id) {
        return find(id.pid()).equals(Optional.of(id));
    }

    /**
     * Whether a process that is there has been sent SIGKILL and has not ended: it hangs in the
     * kernel, in a driver most likely.
     */
    boolean isKilled(ProcessId process);

    /**
     * The cgroup folder of the container that a process is in: of the devices controller where that
     * has a hierarchy of its own, else the one there is. When the process is in a folder below the
     * container's (as systemd puts itself), it is still the container's.
     *
     * @return a path below {@code /sys/fs/cgroup}; empty when no name in the path contains the
     *     container's id, since another folder says nothing about the container, or when the
     *     process has gone
     */
    Optional<String> cgroup(ProcessId process, String containerId);

    /**
     * The folder of the cgroup that a process is in, of a controller of version 1.
     *
     * @return empty where that controller has no hierarchy, or when the process has gone
     */
    Optional<String> cgroupOf(ProcessId process, String controller);

    /**
     * Whether a process is left in a cgroup folder or in one below it. A folder that is gone has
     * none, nor do zombies count.
     */
    boolean hasProcesses(String cgroup);

    /**
     * The oldest process that has a mount, for each mount of any mount namespace but our own whose
     * root matches. A process that is ending shows no mounts any more, though it may still be
     * alive. One that we may not look at is left out; root may look at every container's.
     *
     * @param root the whole path of a mount's root within its file system (field 4 of mountinfo,
     *     unescaped), also when the folder has been deleted there
     * @return by group 1 of the pattern
     */
    Map<String, ProcessId> oldestWithMount(Pattern root);

    /**
     * The same of one process: what group 1 of the pattern is for its mounts. None when it has
     * gone.
     */
    Set<String> mounted(ProcessId process, Pattern root);

    /**
     * The processes, other than this one, that have character devices of a major open, in order of
     * age. What counts is the device that a descriptor leads to and not its name; but only what is
     * called {@code /dev/…} or {@code nvidia<n>} is looked at, since to look at any file might wait
     * for a file system that does not answer.
     */
    List<DeviceUser> usersOf(int major);

    /**
     * The outermost cgroups of version 1 that allow devices of a major by name, and in which there
     * are processes. Empty where the devices controller has no hierarchy.
     */
    List<AllowedDevices> allowed(int major);

    /** What a process is called and whose it is; empty when it has gone. */
    Optional<ProcessTraits> traits(ProcessId process);

    /**
     * How the root of a mount of this folder would be spelled: the folder's path within its file
     * system. Empty when that can't be told.
     */
    Optional<String> mountRoot(Path folder);

    /**
     * The user who logged in and whose session a process comes from (the audit login uid), whatever
     * it has become since. Empty when that is not set or not known.
     */
    OptionalInt loginUid(int pid);
}
