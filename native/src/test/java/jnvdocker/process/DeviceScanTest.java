package jnvdocker.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.attack.Attack;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Set;

/** The number of descriptors read, for processes written as text that have real devices open. */
@Attack(
        by = "any user",
        what = "has 20 × 19,900 files open",
        result =
                "reads are bounded; the user counts as a user of GPUs until all have been read,"
                        + " and `gpu doctor` names them")
class DeviceScanTest {
    /** The major of /dev/full; 7 is its minor. */
    private static final int MAJOR = 1;

    /** {@code /dev/tty} and {@code /dev/ptmx} stand for graphics nodes. */
    private static final int GRAPHICS = 5;

    private static final int MANY = 300;

    @TempDir Path directory;
    private TestingProcDirectory proc;

    @BeforeEach
    void makeProc() throws IOException {
        proc = new TestingProcDirectory(directory);
    }

    /** JUnit warns of each link that leads out of its directory. */
    @AfterEach
    void deleteLinks() throws IOException {
        try (var walk = Files.walk(directory)) {
            for (Path link : walk.filter(Files::isSymbolicLink).toList()) {
                Files.delete(link);
            }
        }
    }

    /** Makes a process whose last descriptor leads to the device. */
    private void process(int pid, int uid, int descriptors) throws IOException {
        String[] targets = new String[descriptors];
        Arrays.fill(targets, "/etc/passwd");
        targets[descriptors - 1] = "/dev/full";
        proc.process(pid, pid).descriptors(String.valueOf(pid), targets);
        String ids = "Uid:\t%1$d\t%1$d\t%1$d\t%1$d\nGid:\t7\t7\t7\t7\nGroups:\t4 24 \n";
        proc.file(pid + "/status", "Name:\tsleep\n" + ids.formatted(uid));
    }

    private ProcDirectory limited(int process, int user, int users, int root) {
        return proc.processes(
                MountScan.Limits.USUAL, new DescriptorLimits(process, user, users, root));
    }

    private static List<Integer> pids(OpenDevices found) {
        return found.users().stream().map(user -> user.process().pid()).toList();
    }

    @Test
    void withinTheLimitsAllAreRead() throws IOException {
        process(10, 0, MANY);
        process(11, 1000, MANY);
        ProcDirectory processes = limited(MANY, MANY, MANY, MANY);
        for (int i = 1; i <= 2; i++) {
            OpenDevices found = processes.usersOf(MAJOR, GRAPHICS);
            assertEquals(List.of(10, 11), pids(found));
            assertEquals(Set.of(7), found.users().getFirst().minors());
            assertEquals(List.of(), found.beyond());
            assertEquals(2 * MANY * i, processes.deviceScan().descriptorsRead());
        }
        assertEquals(List.of(), pids(processes.usersOf(MAJOR + 1, GRAPHICS)));
    }

    @Test
    void graphicsNodesAreFoundBesideTheOthers() throws IOException {
        proc.process(10, 10).descriptors("10", "/dev/full", "/dev/ptmx");
        proc.process(11, 11).descriptors("11", "/dev/ptmx");
        proc.process(12, 12).descriptors("12", "/dev/null");
        List<DeviceUser> users = proc.processes().usersOf(MAJOR, GRAPHICS).users();
        assertEquals(List.of(10, 11), users.stream().map(user -> user.process().pid()).toList());
        assertEquals(Set.of(7), users.getFirst().minors());
        assertEquals(Set.of(2), users.getFirst().graphics());
        assertEquals(Set.of(), users.getLast().minors());
        assertEquals(Set.of(2), users.getLast().graphics());
    }

    /** In a user namespace they are about the files of its own users. */
    @ParameterizedTest
    @CsvSource({
        "0000000000000002, 0 0 4294967295, true",
        "0000000000000004, 0 0 4294967295, true",
        "0000000000000008, 0 0 4294967295, false",
        "000001ffffffffff, 0 1000 1, false"
    })
    void capabilitiesOfTheFirstUserNamespaceCount(String effective, String users, boolean all)
            throws IOException {
        process(10, 1000, 1);
        proc.file("10/status", "Name:\tx\nUid:\t1000\t0\t0\t0\nCapEff:\t" + effective + "\n");
        proc.file("10/uid_map", users + "\n");
        ProcDirectory processes = limited(100, 1 << 20, 1 << 20, 1 << 20);
        assertEquals(new Credentials(1000, Set.of(), all), processes.credentials(10));
    }

    @Test
    void processWithManyIsReadOnceAndThenInTheBackground() throws Exception {
        process(10, 1000, MANY);
        ProcDirectory processes = limited(100, 1 << 20, 1 << 20, 1 << 20);
        DeviceScan scan = processes.deviceScan();
        OpenDevices found = processes.usersOf(MAJOR, GRAPHICS);
        assertEquals(List.of(10), pids(found));
        assertEquals(List.of(), found.beyond());
        assertEquals(MANY, scan.descriptorsRead());

        found = processes.usersOf(MAJOR, GRAPHICS);
        assertEquals(List.of(10), pids(found), "what was found before still counts");
        assertEquals(MANY + 100, scan.descriptorsRead());
        OpenDevices.Partial beyond = found.beyond().getFirst();
        assertEquals(new Credentials(1000, Set.of(4, 7, 24)), beyond.credentials());
        assertFalse(beyond.pending());

        Files.delete(directory.resolve("10/fd/" + (MANY - 1)));
        scan.pass(new DeviceScan.Majors(MAJOR), 1000);
        assertEquals(List.of(), pids(processes.usersOf(MAJOR, GRAPHICS)));
    }

    @Test
    void userWithManyDelaysNobodyAndHidesNothing() throws Exception {
        int hogs = 20;
        for (int pid = 10; pid < 10 + hogs; pid++) {
            process(pid, 1000, MANY);
        }
        process(50, 1001, MANY);
        process(51, 0, MANY);
        int user = 2 * MANY;
        ProcDirectory processes = limited(100, user, 1 << 20, 1 << 20);
        DeviceScan scan = processes.deviceScan();
        OpenDevices found = processes.usersOf(MAJOR, GRAPHICS);
        long most = user + (long) hogs * DescriptorLimits.UNMETERED + 2 * MANY;
        assertTrue(scan.descriptorsRead() <= most, () -> "read: " + scan.descriptorsRead());
        assertTrue(pids(found).containsAll(List.of(50, 51)), "others are not delayed by it");
        assertFalse(found.beyond().isEmpty());
        for (OpenDevices.Partial one : found.beyond()) {
            assertEquals(1000, one.credentials().uid());
            assertTrue(one.pending(), "it may have anything open");
        }

        scan.pass(new DeviceScan.Majors(MAJOR), 1000);
        long before = scan.descriptorsRead();
        found = processes.usersOf(MAJOR, GRAPHICS);
        assertEquals(hogs + 2, found.users().size());
        assertTrue(found.beyond().stream().noneMatch(OpenDevices.Partial::pending));
        long second = scan.descriptorsRead() - before;
        assertTrue(second <= most, () -> "read: " + second);
    }

    @Test
    void manyUsersTogetherDoNotDelayRoots() throws Exception {
        for (int pid = 10; pid < 30; pid++) {
            process(pid, 1000 + pid, MANY);
        }
        process(51, 0, MANY);
        OpenDevices found = limited(100, 1 << 20, MANY, 1 << 20).usersOf(MAJOR, GRAPHICS);
        assertTrue(pids(found).contains(51));
        assertTrue(found.beyond().stream().allMatch(one -> one.credentials().uid() != 0));
        assertTrue(found.beyond().size() > 15);
    }

    @Test
    void laterProcessOfTheSamePidIsAnother() throws Exception {
        process(10, 1000, MANY);
        ProcDirectory processes = limited(100, 1 << 20, 1 << 20, 1 << 20);
        assertEquals(List.of(10), pids(processes.usersOf(MAJOR, GRAPHICS)));
        Files.delete(directory.resolve("10/fd/" + (MANY - 1)));
        proc.process(10, 99);
        assertEquals(List.of(), pids(processes.usersOf(MAJOR, GRAPHICS)));
    }

    @Test
    void threadsOfAProcessWithoutItsFirstOneAreRead() throws Exception {
        proc.stat(10, TestingProcDirectory.stat("sleep", 'Z', 2, 99)).descriptors("10");
        proc.descriptors("10/task/10").descriptors("10/task/11", "/etc/passwd", "/dev/full");
        assertEquals(List.of(10), pids(proc.processes().usersOf(MAJOR, GRAPHICS)));
    }
}
