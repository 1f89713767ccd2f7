package jnvdocker.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.attack.Attack;
import jnvdocker.posix.ProcessId;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.TreeSet;
import java.util.concurrent.atomic.AtomicBoolean;

/** Cgroups as texts: the place of a container's cgroup, and whether any process is left in it. */
@Attack(
        by = "any user",
        what = "moves threads into a threaded cgroup below a pod's",
        result = "the processes are found in the list above it; other pods' leases end")
class CgroupTest {
    private static final String ID =
            "4bf92f3577b34da6a3ce929d0e0e4736a1b2c3d4e5f60718293a4b5c6d7e8f90";
    private static final ProcessId INIT = new ProcessId(7, 99);

    private static final String TMPFS =
            "31 23 0:28 / /sys/fs/cgroup ro - tmpfs tmpfs rw,mode=755\n";
    private static final String CPU =
            "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n";
    private static final String DEVICES =
            "36 31 0:33 / /sys/fs/cgroup/devices rw shared:9 - cgroup cgroup rw,devices\n";
    private static final String HYBRID =
            "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw,nsdelegate\n";
    private static final String UNIFIED =
            "31 23 0:28 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";

    @TempDir Path directory;
    private TestingProcDirectory proc;

    @BeforeEach
    void startInit() throws IOException {
        proc =
                new TestingProcDirectory(directory.resolve("proc"))
                        .process(INIT.pid(), INIT.startTime());
    }

    @Test
    void unifiedHierarchyHasTheDirectory() throws IOException {
        proc.file("self/mountinfo", UNIFIED);
        proc.file("7/cgroup", "0::/system.slice/docker-" + ID + ".scope\n");
        assertCgroup("/sys/fs/cgroup/system.slice/docker-" + ID + ".scope");
    }

    @Test
    void devicesControllerHasItWhereThereAreSeveral() throws IOException {
        proc.file("self/mountinfo", TMPFS + HYBRID + CPU + DEVICES);
        proc.file("7/cgroup", "9:devices:/docker/" + ID + "\n4:cpu,cpuacct:/x\n0::/y\n");
        assertCgroup("/sys/fs/cgroup/devices/docker/" + ID);
    }

    @Test
    void hybridMachineWithoutADevicesControllerHasTheUnifiedOne() throws IOException {
        proc.file("self/mountinfo", TMPFS + CPU + HYBRID);
        proc.file("7/cgroup", "4:cpu,cpuacct:/docker/" + ID + "\n0::/docker/" + ID + "\n");
        assertCgroup("/sys/fs/cgroup/unified/docker/" + ID);
    }

    @Test
    void directoryBelowTheContainersIsStillTheContainers() throws IOException {
        proc.file("self/mountinfo", UNIFIED);
        proc.file("7/cgroup", "0::/docker/" + ID + "/init.scope\n");
        assertCgroup("/sys/fs/cgroup/docker/" + ID);
    }

    @Test
    void partOfAHierarchyMayBeMounted() throws IOException {
        proc.file("self/mountinfo", DEVICES.replace(" / ", " /docker/outer "));
        proc.file("7/cgroup", "9:devices:/docker/outer/docker/" + ID + "\n");
        assertCgroup("/sys/fs/cgroup/devices/docker/" + ID);

        proc.file("7/cgroup", "9:devices:/docker/outer-not/docker/" + ID + "\n");
        assertNoCgroup();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "0::/",
                "0::/system.slice/docker.service",
                "0::/../../docker/" + ID,
                "9:devices:/docker/" + ID,
                "1:name=systemd:/docker/" + ID,
                "what",
                ""
            })
    void anotherDirectorySaysNothing(String cgroup) throws IOException {
        proc.file("self/mountinfo", UNIFIED).file("7/cgroup", cgroup + "\n");
        assertNoCgroup();
    }

    @Test
    void emptyIdNamesNoContainer() throws IOException {
        proc.file("self/mountinfo", UNIFIED).file("7/cgroup", "0::/docker/" + ID + "\n");
        assertEquals(Optional.empty(), proc.processes().cgroup(INIT, ""));
    }

    @Test
    void nothingIsMounted() throws IOException {
        proc.file("self/mountinfo", UNIFIED.replace("/sys/fs/cgroup", "/mnt/cgroup"));
        proc.file("7/cgroup", "0::/docker/" + ID + "\n");
        assertNoCgroup();
    }

    @Test
    void laterProcessOfTheSamePidSaysNothing() throws IOException {
        proc.file("self/mountinfo", UNIFIED).file("7/cgroup", "0::/docker/" + ID + "\n");
        proc.process(7, 100);
        assertNoCgroup();
    }

    @Test
    void processThatHasGoneSaysNothing() throws IOException {
        proc.file("self/mountinfo", UNIFIED);
        assertEquals(Optional.empty(), proc.processes().cgroup(new ProcessId(8, 99), ID));
    }

    @Test
    void populatedDirectoryHasProcesses() throws IOException {
        Path group = group("x", "cgroup.events", "populated 1\nfrozen 0\n");
        assertTrue(hasProcesses(group));
        group("x", "cgroup.events", "populated 0\nfrozen 1\n");
        assertFalse(hasProcesses(group));
    }

    @Test
    void directoriesBelowAreSearched() throws IOException {
        Path group = group("x", "cgroup.procs", "");
        group("x/a/b", "cgroup.procs", "");
        group("x/a", "cgroup.procs", "");
        assertFalse(hasProcesses(group));
        group("x/a/b", "cgroup.procs", "4711\n");
        assertTrue(hasProcesses(group));
    }

    @Test
    void directoryThatIsGoneHasNone() {
        assertFalse(hasProcesses(directory.resolve("gone")));
        assertFalse(hasProcesses(directory.resolve("gone/too")));
    }

    @Test
    void directoryThatIsNoCgroupIsNotTakenForEmpty() throws IOException {
        Path other = Files.createDirectory(directory.resolve("other"));
        assertThrows(UncheckedIOException.class, () -> hasProcesses(other));
    }

    private static final String FREEZER =
            "37 31 0:34 / /sys/fs/cgroup/freezer rw - cgroup cgroup rw,freezer\n";

    @Test
    void everyControllerHasItsOwnDirectory() throws IOException {
        proc.file("self/mountinfo", TMPFS + HYBRID + CPU + DEVICES + FREEZER);
        proc.file("7/cgroup", "9:devices:/\n8:freezer:/mesos/a\n4:cpu,cpuacct:/x\n0::/y\n");
        assertEquals(
                Optional.of("/sys/fs/cgroup/freezer/mesos/a"),
                proc.processes().cgroupOf(INIT, "freezer"));
        assertEquals(
                Optional.of("/sys/fs/cgroup/cpu,cpuacct/x"),
                proc.processes().cgroupOf(INIT, "cpuacct"));
        assertEquals(Optional.empty(), proc.processes().cgroupOf(INIT, "memory"));
        assertEquals(Optional.empty(), proc.processes().cgroupOf(new ProcessId(7, 98), "freezer"));
    }

    @Test
    void unifiedHierarchyIsNoControllers() throws IOException {
        proc.file("self/mountinfo", UNIFIED).file("7/cgroup", "0::/mesos/a\n");
        assertEquals(Optional.empty(), proc.processes().cgroupOf(INIT, "freezer"));
    }

    @Test
    void directoryHasANamesakeInEachHierarchy() {
        var controllers = new CgroupControllers(MountTable.parse(TMPFS + DEVICES + FREEZER));
        assertEquals(
                Optional.of("/sys/fs/cgroup/devices/mesos/a"),
                controllers.counterpart("/sys/fs/cgroup/freezer/mesos/a", "freezer", "devices"));
        for (String other : new String[] {"/sys/fs/cgroup/freezer", "/sys/fs/cgroup/devices/a"}) {
            assertEquals(
                    Optional.empty(), controllers.counterpart(other, "freezer", "devices"), other);
        }
        assertEquals(
                Optional.empty(),
                controllers.counterpart("/sys/fs/cgroup/freezer/a", "freezer", "memory"));
    }

    @Test
    void devicesThatAreAllowedByNameAreFound() throws IOException {
        proc.file("self/mountinfo", UNIFIED);
        assertEquals(List.of(), proc.processes().allowed(195));

        CgroupDirectory root =
                new CgroupDirectory(group("d", "cgroup.procs", "7\n0\n8\n").resolve("."));
        group("d", "devices.list", "a *:* rwm\nc 195:255 rw\nc 195:* rwm\nc 1:3 rwm\nb 195:1 rw\n");
        group("d/x", "cgroup.procs", "9\n");
        assertEquals(new TreeSet<>(List.of(255)), root.allowedMinors(195));
        assertEquals(List.of(7, 8, 9), root.pids());
    }

    /** As a container's does whose pod goes on. */
    @Test
    void directoryThatIsRemovedWhileTheOneAboveIsReadHasNone() throws Exception {
        CgroupDirectory pod = new CgroupDirectory(group("pod", "cgroup.procs", "7\n"));
        Path away = group("away", "cgroup.procs", "8\n");
        AtomicBoolean over = new AtomicBoolean();
        Thread churn =
                Thread.ofVirtual()
                        .start(() -> {
                            for (int i = 0; !over.get(); i++) {
                                Path there = pod.path().resolve("container-" + i);
                                assertTrue(away.toFile().renameTo(there.toFile()));
                                assertTrue(there.toFile().renameTo(away.toFile()));
                            }
                        });
        try {
            for (int i = 0; i < 5000; i++) {
                assertEquals(7, pod.pids().getFirst());
            }
        } finally {
            over.set(true);
            churn.join();
        }
    }

    /**
     * The kernel does not list the processes of such a cgroup: one would hide those of all pods.
     */
    @Test
    void processesOfThreadedGroupsAreFound() throws IOException {
        group("d", "cgroup.type", "domain threaded\n");
        CgroupDirectory domain = new CgroupDirectory(group("d", "cgroup.procs", "7\n"));
        group("d/t", "cgroup.type", "threaded\n");
        CgroupDirectory threaded = new CgroupDirectory(group("d/t", "cgroup.threads", "8\n"));
        Path unreadable = threaded.path().resolve("cgroup.procs");
        Files.createSymbolicLink(unreadable, Path.of("not supported"));
        assertEquals(List.of(7), domain.pids());
        assertEquals(List.of(8), threaded.pids());
    }

    /** Each differs from a privileged one in one thing. */
    @ParameterizedTest
    @CsvSource({
        "ffffffff, 2, a *:* rwm, true",
        "a80425fb, 2, a *:* rwm, false",
        "ffffffff, 1, a *:* rwm, false",
        "ffffffff, 2, c 1:3 rwm, false"
    })
    void containerThatMayDoAllInANamespaceOfItsOwnIsPrivileged(
            String capabilities, int namespace, String devices, boolean privileged)
            throws IOException {
        Path group = group("pod/main", "cgroup.procs", "7\n");
        group("pod", "cgroup.procs", "");
        Files.writeString(group.resolve("devices.list"), devices + "\n");
        proc.mounts(1, 1).file("1/status", "CapBnd:\tffffffff\nNoNewPrivs:\t0\n");
        proc.mounts(7, namespace).file("7/status", "CapBnd:\t" + capabilities + "\n");
        assertEquals(
                privileged, proc.processes().arePrivileged(directory.resolve("pod").toString()));
    }

    private Path group(String name, String file, String text) throws IOException {
        Path group = Files.createDirectories(directory.resolve(name));
        Files.writeString(group.resolve(file), text);
        return group;
    }

    private boolean hasProcesses(Path group) {
        return proc.processes().hasProcesses(group.toString());
    }

    private void assertCgroup(String expected) {
        assertEquals(Optional.of(expected), proc.processes().cgroup(INIT, ID));
    }

    private void assertNoCgroup() {
        assertEquals(Optional.empty(), proc.processes().cgroup(INIT, ID));
    }
}
