package jnvdocker.process;

import jnvdocker.posix.FileErrors;
import jnvdocker.posix.Posix;
import jnvdocker.posix.PosixException;
import jnvdocker.posix.ProcessId;
import jnvdocker.words.FailedException;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Predicate;

/**
 * A cgroup of our own for a process of the host and all its descendants: they stay in it, whatever
 * happens to their parents, session and environment. It is below the cgroup that the process was
 * in, so that its user's limits still apply.
 */
public final class ProcessGroup {
    private static final Logger LOG = LoggerFactory.getLogger(ProcessGroup.class);

    private static final String TRUSTED = "trusted.jnvdocker.";
    private static final int LIMIT = 1 << 16;
    private static final Duration STEP = Duration.ofMillis(50);

    private ProcessGroup() {}

    /**
     * Puts a process of this machine into a new cgroup.
     *
     * @param name of the directory
     * @param attributes what is to be known of it whatever is lost: extended attributes that only
     *     root may set, where its file system has those
     * @return the directory below {@code /sys/fs/cgroup}
     * @throws IOException when it cannot be made, or the process has gone; no cgroup is left then
     */
    public static String make(ProcessId process, String name, Map<String, byte[]> attributes)
            throws IOException {
        try {
            Path directory = parent(process).resolve(name);
            Files.createDirectory(directory);
            mark(directory, attributes);
            enter(directory, process);
            return directory.toString();
        } catch (IOException e) {
            throw new FailedException(
                    "cannot put process "
                            + process.pid()
                            + " into a cgroup of its own, by which to know what it starts: "
                            + FileErrors.describe(e),
                    "mount cgroups at /sys/fs/cgroup, or run it in a container",
                    e);
        }
    }

    private static void mark(Path directory, Map<String, byte[]> attributes) {
        try {
            for (Map.Entry<String, byte[]> each : attributes.entrySet()) {
                Posix.setAttribute(directory, TRUSTED + each.getKey(), each.getValue());
            }
        } catch (PosixException e) {
            LOG.debug("cgroup without attributes: {}", e.getMessage());
        }
    }

    /** Returns an attribute that was given to a cgroup; empty when it has none. */
    public static Optional<byte[]> attribute(String directory, String name) {
        try {
            return Optional.of(Posix.attribute(Path.of(directory), TRUSTED + name, LIMIT));
        } catch (PosixException e) {
            LOG.debug("cgroup without attribute: {}", e.getMessage());
            return Optional.empty();
        }
    }

    private static void enter(Path directory, ProcessId process) throws IOException {
        try {
            refuseIfDead(process);
            move(process.pid(), directory);
            // A later process of its pid may be there instead.
            refuseIfDead(process);
        } catch (IOException e) {
            for (int pid : new CgroupDirectory(directory).pids()) {
                move(pid, directory.getParent());
            }
            remove(directory.toString());
            throw e;
        }
    }

    private static void refuseIfDead(ProcessId process) throws IOException {
        if (!Processes.ofThisMachine().isAlive(process)) {
            throw new IOException("it has ended");
        }
    }

    private static void move(int pid, Path directory) throws IOException {
        Files.writeString(
                directory.resolve("cgroup.procs"), String.valueOf(pid), StandardOpenOption.WRITE);
    }

    private static Path parent(ProcessId process) throws IOException {
        CgroupHierarchy hierarchy =
                CgroupHierarchy.among(MountTable.ofThisProcess())
                        .orElseThrow(() -> new IOException("none are mounted"));
        String cgroups = Files.readString(Path.of("/proc/" + process.pid() + "/cgroup"));
        return hierarchy
                .directory(cgroups)
                .map(Path::of)
                .orElseThrow(() -> new IOException("the one that it is in is not mounted"));
    }

    /**
     * Returns the directories of all cgroups with a matching name.
     *
     * @throws IOException when the cgroups cannot be listed
     */
    public static List<String> find(Predicate<String> name) throws IOException {
        List<String> found = new ArrayList<>();
        Optional<CgroupHierarchy> hierarchy = CgroupHierarchy.among(MountTable.ofThisProcess());
        if (hierarchy.isPresent()) {
            find(new CgroupDirectory(Path.of(hierarchy.get().mount().point())), name, found);
        }
        return found;
    }

    private static void find(CgroupDirectory directory, Predicate<String> name, List<String> found)
            throws IOException {
        try {
            for (CgroupDirectory below : directory.below()) {
                if (name.test(below.path().getFileName().toString())) {
                    found.add(below.path().toString());
                }
                find(below, name, found);
            }
        } catch (IOException e) {
            // Reads of its files fail in several ways if it is removed meanwhile.
            if (Files.exists(directory.path())) {
                throw e;
            }
        }
    }

    /**
     * Ends all processes of a cgroup, by SIGTERM, and by SIGKILL those that are left after a time.
     */
    public static void end(String directory, Duration patience) throws IOException {
        CgroupDirectory group = new CgroupDirectory(Path.of(directory));
        long begun = System.nanoTime();
        group.pids().forEach(pid -> ProcessHandle.of(pid).ifPresent(ProcessHandle::destroy));
        while (group.hasProcesses() && System.nanoTime() - begun < patience.toNanos()) {
            try {
                Thread.sleep(STEP);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                return;
            }
        }
        group.pids()
                .forEach(pid -> ProcessHandle.of(pid).ifPresent(ProcessHandle::destroyForcibly));
    }

    /**
     * Removes a cgroup if it is empty.
     *
     * @return whether it is gone
     */
    public static boolean remove(String directory) {
        try {
            Files.deleteIfExists(Path.of(directory));
            return true;
        } catch (IOException e) {
            LOG.debug("{} stays: {}", directory, e.getMessage());
            return false;
        }
    }
}
