package jnvdocker.process;

import jnvdocker.posix.ProcessId;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.function.BinaryOperator;
import java.util.function.Predicate;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The processes of this machine. A process that ends while it is read is no error. A failure to
 * read for any other reason is an {@link UncheckedIOException}: an unknown process must not be
 * taken for a dead one.
 */
public interface Processes {
    /**
     * Returns the processes of {@code /proc}, the real one, whatever counts as {@code /} elsewhere.
     */
    static Processes ofThisMachine() {
        return new ProcDirectory(Path.of("/proc"));
    }

    /**
     * Finds a live process. Empty when there is none of that number, or it is a zombie, which is
     * dead unless some of its threads live on.
     */
    Optional<ProcessId> find(int pid);

    default boolean isAlive(ProcessId id) {
        return find(id.pid()).equals(Optional.of(id));
    }

    /**
     * Whether a live process has been sent SIGKILL and has not ended: it hangs in the kernel, most
     * likely in a driver.
     */
    boolean isKilled(ProcessId process);

    /**
     * Whether a process is in a cgroup of version 1 that is frozen: it does nothing, not even end
     * when it was killed, until that is thawed.
     */
    boolean isFrozen(ProcessId process);

    /**
     * Whether a process does nothing until its cgroup is thawed, as that of a container that its
     * engine has paused.
     *
     * @param cgroup its directory, if that is known: version 2 shows nothing elsewhere
     */
    boolean isPaused(ProcessId process, Optional<String> cgroup);

    /**
     * Whether a live process was stopped, by Ctrl-Z most likely, and does nothing until a signal
     * continues it (SIGCONT).
     */
    boolean isStopped(ProcessId process);

    /**
     * Returns the cgroup directory of the container that a process is in, in the hierarchy of the
     * devices controller if it has one, else in the only one. The result is the container's even
     * when the process is in a directory below it (where systemd puts itself).
     *
     * @return a path below {@code /sys/fs/cgroup}; empty when no name in the path contains the
     *     container's id, since another directory says nothing about the container, or when the
     *     process has gone
     */
    Optional<String> cgroup(ProcessId process, String containerId);

    /**
     * Returns the directory of a process's cgroup in the hierarchy of a controller of version 1.
     *
     * @return empty if that controller has no hierarchy, or when the process has gone
     */
    Optional<String> cgroupOf(ProcessId process, String controller);

    /**
     * Whether any process is left in a cgroup directory or below it. Zombies do not count; a
     * directory that is gone has no processes.
     */
    boolean hasProcesses(String cgroup);

    /**
     * Returns the oldest process in a cgroup directory or below it; empty when {@link
     * #hasProcesses} is false.
     */
    Optional<ProcessId> oldest(String cgroup);

    /**
     * Whether a container directly below a cgroup is privileged: it has all capabilities of the
     * first process in a mount namespace of its own, and may open every device as far as is known.
     * With cgroups of version 2 this cannot be determined.
     */
    boolean arePrivileged(String cgroup);

    /** Whether a process is the only one in a cgroup directory and below it. */
    boolean isAlone(ProcessId process, String cgroup);

    /**
     * Returns the mounts in root's mount namespaces except our own. Namespaces of a user namespace
     * that another user made are not scanned: their processes may mount anything. A process that is
     * ending shows no mounts any more, though it may still be alive. Processes that we may not read
     * are skipped; root may read those of every container.
     *
     * @param root selects mounts, by the whole path of a mount's root within its file system (field
     *     4 of mountinfo, unescaped), also if the directory has been deleted there
     */
    SeenMounts mounts(Predicate<String> root);

    /**
     * Returns the mounts of one process in the same way. Empty when it has gone, or is in a
     * namespace that is not root's.
     */
    Set<MountedDirectory> mounts(ProcessId process, Predicate<String> root);

    /**
     * Returns the oldest process in a namespace of root's for each mount with a matching root.
     *
     * @return by group 1 of the pattern
     * @throws UncheckedIOException also when one of the namespaces has more mounts than the limits
     *     allow
     */
    default Map<String, ProcessId> oldestWithMount(Pattern root) {
        SeenMounts seen = mounts(root.asMatchPredicate());
        if (!seen.unread().isEmpty()) {
            throw new UncheckedIOException(
                    new IOException(
                            "pid "
                                    + seen.unread().getFirst().pid()
                                    + " has more mounts than are read"));
        }
        Map<String, ProcessId> oldest = new TreeMap<>();
        seen.holders()
                .forEach((directory, holders) ->
                        oldest.merge(
                                group(root, directory),
                                holders.getFirst(),
                                BinaryOperator.minBy(
                                        Comparator.comparingLong(ProcessId::startTime)
                                                .thenComparingInt(ProcessId::pid))));
        return oldest;
    }

    private static String group(Pattern pattern, MountedDirectory directory) {
        Matcher matcher = pattern.matcher(directory.path());
        if (!matcher.matches()) {
            throw new IllegalArgumentException(directory + " does not match");
        }
        return matcher.group(1);
    }

    /**
     * Returns the processes, other than this one, that have character devices of GPUs or graphics
     * nodes open. The device that a descriptor leads to counts, not its name; but only files named
     * {@code /dev/…} or {@code nvidia<n>}, or {@code nvidia-cap<n>}, are checked, since a check of
     * an arbitrary file might wait for a file system that does not answer.
     *
     * @param major of the GPUs
     * @param graphics the major of the graphics nodes
     */
    OpenDevices usersOf(int major, int graphics);

    /**
     * Returns the minors of the devices of a major that one process has open; empty when it has too
     * many files open to check them all.
     */
    Optional<SortedSet<Integer>> openBy(ProcessId process, int major);

    /**
     * Returns the outermost cgroups of version 1 that have processes and allow devices of a major
     * by number. Empty if the devices controller has no hierarchy.
     */
    List<AllowedDevices> allowed(int major);

    /**
     * A cgroup with processes.
     *
     * @param directory below {@code /sys/fs/cgroup}
     * @param process the oldest in it
     */
    record Group(String directory, ProcessId process) {
        Group older(Group other) {
            return process.startTime() <= other.process().startTime() ? this : other;
        }
    }

    /**
     * Returns the cgroups with processes that root has made and that have a matching name, in the
     * hierarchy that distinguishes containers, though not below containers. Users may make others
     * in a part of it that was delegated to them.
     *
     * @return by group 1 of the pattern; of several with the same one, that with the oldest process
     */
    Map<String, Group> groups(Pattern name);

    /**
     * Returns group 1 of the pattern for such cgroups of any hierarchy, including those without
     * processes.
     */
    Set<String> groupNames(Pattern name);

    /**
     * Whether root has a conmon at work on a container: podman's program that waits for the
     * container's end, and then for the command that starts the container again or removes it.
     *
     * @param container its full id
     */
    boolean isMonitored(String container);

    /** Returns the name and owner of a process; empty when it has gone. */
    Optional<ProcessTraits> traits(ProcessId process);

    /**
     * Returns the spelling of the root of a mount of this directory. Empty when that is unknown.
     */
    Optional<MountedDirectory> spell(Path directory);

    /** Returns its path within its file system. */
    default Optional<String> mountRoot(Path directory) {
        return spell(directory).map(MountedDirectory::path);
    }

    /**
     * Returns the user whose login session a process comes from (the audit login uid), whatever its
     * user is now. Empty when that is unset or unknown.
     */
    OptionalInt loginUid(int pid);
}
