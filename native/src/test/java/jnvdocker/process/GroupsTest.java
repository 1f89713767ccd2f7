package jnvdocker.process;

import static org.junit.jupiter.api.Assertions.assertEquals;

import jnvdocker.attack.Attack;
import jnvdocker.posix.ProcessId;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;

/** Which cgroups of a name are root's, among those that others have made. */
@Tag("root")
@Attack(
        by = "any user, root in a container whose cgroup can be written to",
        what = "makes or renames a cgroup to a pod's name",
        result = "counts for nothing")
@Attack(
        by = "a member",
        what = "has docker make a cgroup with a pod's name (`--cgroup-parent`)",
        result = "may make a lease longer, and ends none")
class GroupsTest {
    private static final Pattern NAME = Pattern.compile("p0d([0-9]+)");
    private static final String CONTAINER = "4bf92f3577b34da6".repeat(4);
    private static final Path DEVICES = Path.of("/sys/fs/cgroup/devices");

    private final Processes processes = Processes.ofThisMachine();
    private final List<Path> groups = new ArrayList<>();
    private final List<Process> started = new ArrayList<>();
    private Path pods;

    @BeforeEach
    void open() throws IOException {
        Path hierarchy = Files.isDirectory(DEVICES) ? DEVICES : DEVICES.getParent();
        pods = group(hierarchy.resolve("p0ds-" + ProcessHandle.current().pid()));
    }

    @AfterEach
    void close() throws Exception {
        for (Process process : started) {
            process.destroyForcibly().waitFor();
        }
        for (Path group : groups.reversed()) {
            while (processes.hasProcesses(group.toString())) {
                Thread.sleep(5);
            }
            Files.delete(group);
        }
    }

    private Path group(Path directory) throws IOException {
        groups.add(Files.createDirectory(directory));
        return directory;
    }

    /** Starts a process in a cgroup. */
    private ProcessId enter(Path group) throws IOException {
        Process process = new ProcessBuilder("sleep", "1000").start();
        started.add(process);
        Files.writeString(group.resolve("cgroup.procs"), String.valueOf(process.pid()));
        return processes.find((int) process.pid()).orElseThrow();
    }

    /**
     * In a directory of their own users make, and with version 1 rename, what they like, and so
     * does root of a container whose cgroup can be written to.
     */
    @Test
    void thoseOfUsersAndContainersDoNotCount() throws Exception {
        Path real = group(pods.resolve("p0d1"));
        Path users = group(pods.resolve("users"));
        Path container = group(pods.resolve("docker-" + CONTAINER + ".scope"));
        List<Path> forged = new ArrayList<>();
        for (Path place : List.of(users, container)) {
            forged.add(group(place.resolve("p0d1")));
            forged.add(group(place.resolve("p0d2")));
        }
        Path owned = group(pods.resolve("p0d3"));
        forged.add(owned);
        Files.setAttribute(users, "unix:uid", 65534);
        Files.setAttribute(owned, "unix:uid", 65534);
        for (Path group : forged) {
            enter(group);
        }
        assertEquals(Map.of(), processes.groups(NAME));
        ProcessId first = enter(real);
        assertEquals(Map.of("1", new Processes.Group(real + "", first)), processes.groups(NAME));
    }

    /**
     * A kubelet makes a pod's cgroups before any process, and with version 1 none in the hierarchy
     * of the devices controller.
     */
    @Test
    void emptyOnesOfAllHierarchiesHaveNames() throws Exception {
        Path other = Path.of("/sys/fs/cgroup/pids");
        Path hierarchy = Files.isDirectory(other) ? other : other.getParent();
        Path parent = hierarchy.resolve("p0ds2-" + ProcessHandle.current().pid());
        group(group(parent).resolve("p0d4"));
        group(pods.resolve("p0d5"));
        group(group(pods.resolve("docker-" + CONTAINER + ".scope")).resolve("p0d6"));
        assertEquals(Set.of("4", "5"), processes.groupNames(NAME));
        assertEquals(Map.of(), processes.groups(NAME));
    }

    /** A process that learns of a name is younger than the cgroup's first process. */
    @Test
    void ofTwoWithOneNameTheOlderCounts() throws Exception {
        Path real = group(group(pods.resolve("b")).resolve("p0d1"));
        ProcessId first = enter(real);
        Thread.sleep(30); // Times of starts are in steps of 10 ms.
        for (String place : List.of("a", "c")) {
            enter(group(group(pods.resolve(place)).resolve("p0d1")));
        }
        assertEquals(Map.of("1", new Processes.Group(real + "", first)), processes.groups(NAME));
    }
}
