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
import java.util.stream.Collectors;

/**
 * What is known of this machine's processes. A process that goes away while it is looked at is no
 * error. What cannot be read for any other reason is one, an {@link UncheckedIOException}: an
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
     * Whether a process that is there was stopped, by Ctrl-Z most likely, and does nothing until it
     * is told to go on (SIGCONT).
     */
    boolean isStopped(ProcessId process);

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

    /** Whether a process is all that is in a cgroup folder and below it. */
    boolean isAlone(ProcessId process, String cgroup);

    /**
     * What is mounted in the mount namespaces that are root's, our own left out. One of a user
     * namespace that anybody else has made is not looked at: whoever is in there may mount what he
     * likes. A process that is ending shows no mounts any more, though it may still be alive. One
     * that we may not look at is left out; root may look at every container's.
     *
     * @param root which mounts are looked for, by the whole path of a mount's root within its file
     *     system (field 4 of mountinfo, unescaped), also when the folder has been deleted there
     */
    SeenMounts mounts(Predicate<String> root);

    /** The same of one process. None when it has gone, or is in a namespace that is not root's. */
    Set<MountedFolder> mounts(ProcessId process, Predicate<String> root);

    /**
     * The oldest process that has a mount in a namespace that is root's, for each mount whose root
     * matches.
     *
     * @return by group 1 of the pattern
     * @throws UncheckedIOException also when one of the namespaces has more mounts than are read
     */
    default Map<String, ProcessId> oldestWithMount(Pattern root) {
        SeenMounts seen = mounts(root.asMatchPredicate());
        if (!seen.unread().isEmpty()) {
            throw new UncheckedIOException(
                    new IOException(
                            "pid "
                                    + seen.unread().getFirst().pid()
                                    + " has more mounts than are looked at"));
        }
        Map<String, ProcessId> oldest = new TreeMap<>();
        seen.oldest()
                .forEach((folder, process) ->
                        oldest.merge(
                                group(root, folder),
                                process,
                                BinaryOperator.minBy(
                                        Comparator.comparingLong(ProcessId::startTime)
                                                .thenComparingInt(ProcessId::pid))));
        return oldest;
    }

    /** The same of one process: what group 1 of the pattern is for its mounts. */
    default Set<String> mounted(ProcessId process, Pattern root) {
        return mounts(process, root.asMatchPredicate()).stream()
                .map(folder -> group(root, folder))
                .collect(Collectors.toUnmodifiableSet());
    }

    private static String group(Pattern pattern, MountedFolder folder) {
        Matcher matcher = pattern.matcher(folder.path());
        if (!matcher.matches()) {
            throw new IllegalArgumentException(folder + " was not looked for");
        }
        return matcher.group(1);
    }

    /**
     * The processes, other than this one, that have character devices of a major open. What counts
     * is the device that a descriptor leads to and not its name; but only what is called {@code
     * /dev/…} or {@code nvidia<n>} is looked at, since to look at any file might wait for a file
     * system that does not answer.
     */
    OpenDevices usersOf(int major);

    /**
     * The outermost cgroups of version 1 that allow devices of a major by name, and in which there
     * are processes. Empty where the devices controller has no hierarchy.
     */
    List<AllowedDevices> allowed(int major);

    /**
     * The minors of a major whose character devices a process may open, by its devices cgroup of
     * version 1. What matters are the rules and not the nodes that it has: it may make those.
     *
     * @return empty when it may open all of them, or when that cannot be told, as where the devices
     *     controller has no hierarchy of its own
     */
    Optional<SortedSet<Integer>> openable(ProcessId process, int major);

    /**
     * A cgroup with processes.
     *
     * @param folder below {@code /sys/fs/cgroup}
     * @param process the oldest in it
     */
    record Group(String folder, ProcessId process) {}

    /**
     * The cgroups that root has made, whose name matches and in which there are processes: of the
     * hierarchy in which containers are told apart. A user may make others, where he was given a
     * part of it.
     *
     * @return by group 1 of the pattern
     */
    Map<String, Group> groups(Pattern name);

    /** What a process is called and whose it is; empty when it has gone. */
    Optional<ProcessTraits> traits(ProcessId process);

    /** How the root of a mount of this folder would be spelled. Empty when that cannot be told. */
    Optional<MountedFolder> spell(Path folder);

    /**
     * Where a folder is to be found whose mount was seen. Empty when its file system is not mounted
     * where we can see it, or is covered.
     */
    Optional<Path> locate(MountedFolder folder);

    /** Its path within its file system. */
    default Optional<String> mountRoot(Path folder) {
        return spell(folder).map(MountedFolder::path);
    }

    /**
     * The user who logged in and whose session a process comes from (the audit login uid), whatever
     * it has become since. Empty when that is not set or not known.
     */
    OptionalInt loginUid(int pid);
}
