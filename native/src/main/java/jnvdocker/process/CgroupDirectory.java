package jnvdocker.process;

import java.io.IOException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** A directory below {@code /sys/fs/cgroup} (see cgroups(7)). */
record CgroupDirectory(Path path) {
    private static final String EVENTS = "cgroup.events";

    /** A rule of the devices controller for one character device. */
    private static final Pattern RULE = Pattern.compile("c ([0-9]{1,4}):([0-9]{1,7}) [rwm]+");

    /** Whether there is a process in it or below it; false once it is gone. */
    boolean hasProcesses() throws IOException {
        try {
            Path events = path.resolve(EVENTS);
            return Files.exists(events)
                    ? Files.readAllLines(events).contains("populated 1")
                    : !Files.readString(processes()).isEmpty() || hasProcessesBelow();
        } catch (IOException e) {
            // Reads of its files fail in several ways if it is removed meanwhile.
            if (Files.notExists(path)) {
                return false;
            }
            throw e;
        }
    }

    /** Whether version 2 keeps its processes from running; false where that is not shown. */
    boolean isFrozen() {
        try {
            return Files.readAllLines(path.resolve(EVENTS)).contains("frozen 1");
        } catch (IOException e) {
            return false; // of version 1, or gone
        }
    }

    private boolean hasProcessesBelow() throws IOException {
        for (CgroupDirectory directory : below()) {
            if (directory.hasProcesses()) {
                return true;
            }
        }
        return false;
    }

    /** Whether root made it: in a directory of their own, users can make any directory. */
    boolean isNamedByRoot() {
        try {
            return (int) Files.getAttribute(path.getParent(), "unix:uid") == 0;
        } catch (IOException e) {
            return false;
        }
    }

    /**
     * Returns the processes in it and below it, none once it is gone; a process of another PID
     * namespace has no number here.
     */
    List<Integer> pids() throws IOException {
        try {
            return readPids();
        } catch (IOException e) {
            // Reads of its files fail in several ways if it is removed meanwhile.
            if (Files.notExists(path)) {
                return List.of();
            }
            throw e;
        }
    }

    private List<Integer> readPids() throws IOException {
        List<Integer> pids = new ArrayList<>();
        // The kernel lists only the threads of a threaded cgroup; they include each process's
        // first.
        for (String pid : Files.readAllLines(isThreaded() ? threads() : processes())) {
            pids.add(Integer.parseInt(pid));
        }
        for (CgroupDirectory directory : below()) {
            // The processes of a threaded one are in the list of the one above.
            if (!directory.isThreaded()) {
                pids.addAll(directory.pids());
            }
        }
        pids.removeIf(pid -> pid == 0);
        return pids;
    }

    /** Returns the minors of a major that its controller allows one by one. */
    SortedSet<Integer> allowedMinors(int major) throws IOException {
        SortedSet<Integer> minors = new TreeSet<>();
        for (String line : Files.readAllLines(path.resolve("devices.list"))) {
            Matcher rule = RULE.matcher(line);
            if (rule.matches() && Integer.parseInt(rule.group(1)) == major) {
                minors.add(Integer.parseInt(rule.group(2)));
            }
        }
        return minors;
    }

    /** Whether every device is allowed, as far as can be read: version 2 has no list. */
    boolean allowsAllDevices() throws IOException {
        Path list = path.resolve("devices.list");
        return Files.notExists(list) || Files.readString(list).startsWith("a ");
    }

    List<CgroupDirectory> below() throws IOException {
        List<CgroupDirectory> below = new ArrayList<>();
        try (DirectoryStream<Path> directories =
                Files.newDirectoryStream(path, Files::isDirectory)) {
            directories.forEach(directory -> below.add(new CgroupDirectory(directory)));
            return below;
        } catch (DirectoryIteratorException e) {
            throw e.getCause();
        }
    }

    /** Processes may have moved their threads into cgroups of their own (cgroups(7)). */
    private boolean isThreaded() throws IOException {
        Path type = path.resolve("cgroup.type");
        return Files.exists(type) && Files.readString(type).strip().equals("threaded");
    }

    private Path threads() {
        return path.resolve("cgroup.threads");
    }

    private Path processes() {
        return path.resolve("cgroup.procs");
    }
}
