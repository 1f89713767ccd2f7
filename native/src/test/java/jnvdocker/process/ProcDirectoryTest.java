package jnvdocker.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

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
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.regex.Pattern;

/** Parses the texts of a proc file system. */
class ProcDirectoryTest {
    private static final Pattern CLAIM = Pattern.compile("/state/claim ([a-z0-9]+)");

    @TempDir Path directory;
    private TestingProcDirectory proc;

    @BeforeEach
    void makeProc() throws IOException {
        proc = new TestingProcDirectory(directory);
    }

    @Test
    void processIsItsPidAndStartTime() throws IOException {
        proc.process(7, 4711);
        assertEquals(Optional.of(new ProcessId(7, 4711)), find(7));
        assertEquals(Optional.empty(), find(8));
        assertEquals(Optional.empty(), find(0));
        assertEquals(Optional.empty(), find(-1));
    }

    @ParameterizedTest
    @ValueSource(strings = {"a b", "a) Z 1 1 (b", "(sd-pam)", ")", "", "line\nof two"})
    void nameMayHoldAnything(String name) throws IOException {
        proc.stat(7, TestingProcDirectory.stat(name, 'S', 1, 99));
        assertEquals(Optional.of(new ProcessId(7, 99)), find(7));
    }

    @ParameterizedTest
    @ValueSource(chars = {'Z', 'X', 'x'})
    void deadOnesAreNotThere(char state) throws IOException {
        proc.stat(7, TestingProcDirectory.stat("sleep", state, 1, 99));
        assertEquals(Optional.empty(), find(7));
        assertFalse(proc.processes().isAlive(new ProcessId(7, 99)));
    }

    @ParameterizedTest
    @ValueSource(chars = {'R', 'S', 'D', 'T', 't', 'I'})
    void othersAre(char state) throws IOException {
        proc.stat(7, TestingProcDirectory.stat("sleep", state, 1, 99));
        assertTrue(proc.processes().isAlive(new ProcessId(7, 99)));
    }

    @Test
    void processWhoseFirstThreadAloneHasEndedIsThere() throws IOException {
        proc.stat(7, TestingProcDirectory.stat("sleep", 'Z', 2, 99));
        assertTrue(proc.processes().isAlive(new ProcessId(7, 99)));
    }

    @ParameterizedTest
    @CsvSource({
        "0000000000000100, 0000000000000000, true",
        "0000000000000000, 0000000000000100, true",
        "0000000000004100, 0000000000000000, true",
        "0000000000000200, 0000000000010000, false",
    })
    void killIsSeenAsLongAsItIsPending(String thread, String process, boolean killed)
            throws IOException {
        proc.process(7, 99);
        proc.file(
                "7/status",
                "Name:\tpython\nSigQ:\t1/100\nSigPnd:\t"
                        + thread
                        + "\nShdPnd:\t"
                        + process
                        + "\nSigBlk:\t0000000000000100\n");
        assertEquals(killed, proc.processes().isKilled(new ProcessId(7, 99)));
        assertFalse(proc.processes().isKilled(new ProcessId(7, 98)));
        assertFalse(proc.processes().isKilled(new ProcessId(8, 99)));
    }

    @ParameterizedTest
    @CsvSource({"T, true", "t, true", "S, false"})
    void stoppedProcessIsSeen(char state, boolean stopped) throws IOException {
        proc.stat(7, TestingProcDirectory.stat("sleep", state, 1, 99));
        assertEquals(stopped, proc.processes().isStopped(new ProcessId(7, 99)));
        assertFalse(proc.processes().isStopped(new ProcessId(7, 98)));
    }

    @Test
    void rootOfAMountIsThePathWithinItsFileSystem() throws IOException {
        Path state = Files.createDirectories(directory.resolve("var/lib/state")).toRealPath();
        Path disk = state.getParent();
        proc.file(
                "self/mountinfo",
                """
                20 1 254:0 / / rw - ext4 /dev/vda rw
                21 20 254:1 /old %s rw - ext4 /dev/vdb rw
                22 20 254:1 /@sub %s rw - btrfs /dev/vdb rw
                23 20 254:2 /x %s/stat rw - ext4 /dev/vdc rw
                """
                        .formatted(disk, disk, disk));
        assertEquals(Optional.of("/@sub/state"), proc.processes().mountRoot(state));
        assertEquals(Optional.of("/@sub"), proc.processes().mountRoot(disk));
        assertEquals(Optional.empty(), proc.processes().mountRoot(disk.resolve("none")));
    }

    @Test
    void laterProcessOfTheSamePidIsAnother() throws IOException {
        proc.process(7, 100);
        assertFalse(proc.processes().isAlive(new ProcessId(7, 99)));
    }

    @Test
    void processThatCantBeReadIsNotTakenForDead() throws IOException {
        Files.createDirectories(directory.resolve("7/stat"));
        assertThrows(UncheckedIOException.class, () -> find(7));
    }

    @Test
    void oldestProcessOfEachNamespaceHasItsMounts() throws IOException {
        proc.process(30, 200).mounts(30, 2, "/", "/state/claim\\040a");
        proc.process(20, 300).mounts(20, 2, "/", "/state/claim\\040a");
        proc.process(40, 200).mounts(40, 2, "/", "/state/claim\\040a");
        proc.process(50, 100).mounts(50, 3, "/state/claim\\040b", "/state/claim\\040c");
        proc.process(60, 10).mounts(60, 4, "/");

        assertEquals(
                Map.of(
                        "a", new ProcessId(30, 200),
                        "b", new ProcessId(50, 100),
                        "c", new ProcessId(50, 100)),
                proc.processes().oldestWithMount(CLAIM));
    }

    @Test
    void oldestOfSeveralNamespacesHasTheMount() throws IOException {
        for (int pid = 10; pid < 20; pid++) {
            proc.process(pid, 1000 - pid).mounts(pid, pid, "/state/claim\\040a");
        }
        assertOldest(Map.of("a", new ProcessId(19, 981)));
    }

    @Test
    void ourOwnNamespaceIsLeftOut() throws IOException {
        proc.process(7, 1).mounts(7, 1, "/state/claim\\040a");
        assertOldest(Map.of());
    }

    @Test
    void mountOfADeletedDirectoryCounts() throws IOException {
        proc.process(7, 1).mounts(7, 2, "/state/claim\\040a//deleted");
        assertOldest(Map.of("a", new ProcessId(7, 1)));
    }

    @Test
    void onlyTheWholeRootCounts() throws IOException {
        proc.process(7, 1).mounts(7, 2, "/old/state/claim\\040a", "/state/claim\\040a/b");
        assertOldest(Map.of());
    }

    @Test
    void zombieHasNoMounts() throws IOException {
        proc.stat(7, TestingProcDirectory.stat("sh", 'Z', 1, 1)).mounts(7, 2, "/state/claim\\040a");
        assertOldest(Map.of());
    }

    @Test
    void processThatHasLeftItsNamespaceToEndHasNone() throws IOException {
        proc.process(7, 1);
        proc.process(9, 2).mounts(9, 2, "/state/claim\\040a");
        assertOldest(Map.of("a", new ProcessId(9, 2)));
    }

    @Test
    void mountsThatCantBeReadAreNotTakenForNone() throws IOException {
        proc.process(7, 1).mounts(7, 2);
        Files.delete(directory.resolve("7/mountinfo"));
        assertThrows(UncheckedIOException.class, () -> proc.processes().oldestWithMount(CLAIM));
    }

    @Test
    void namespaceThatIsNotRootsIsNotRead() throws IOException {
        proc.process(7, 1).mounts(7, 2, "/state/claim\\040a").owner(2, 1000);
        proc.process(8, 2).mounts(8, 3, "/state/claim\\040b").owner(3, 100_000);
        proc.process(9, 3).mounts(9, 4, "/state/claim\\040c");
        ProcDirectory processes = proc.processes(MountScan.Limits.USUAL, DescriptorLimits.USUAL);
        assertEquals(Map.of("c", new ProcessId(9, 3)), processes.oldestWithMount(CLAIM));
        assertEquals(
                Files.size(directory.resolve("9/mountinfo")), processes.mountScan().bytesRead());
        assertEquals(Set.of(), processes.mounts(new ProcessId(7, 1), CLAIM.asMatchPredicate()));
        assertEquals(
                Set.of(new MountedDirectory("254:0", "/state/claim c")),
                processes.mounts(new ProcessId(9, 3), CLAIM.asMatchPredicate()));
    }

    @Test
    void mountIsOfADevice() throws IOException {
        proc.process(7, 1).mounts(7, 2, "/a\\040b//deleted", "/c");
        assertEquals(
                Map.of(new MountedDirectory("254:0", "/a b"), List.of(new ProcessId(7, 1))),
                proc.processes().mounts("/a b"::equals).holders());
        assertEquals(
                Set.of(new MountedDirectory("254:0", "/c")),
                proc.processes().mounts(new ProcessId(7, 1), "/c"::equals));
    }

    @Test
    void namespaceWithMoreMountsThanAreReadMayHaveAny() throws IOException {
        String[] roots = new String[1000];
        Arrays.fill(roots, "/x".repeat(100));
        roots[999] = "/state/claim\\040a";
        proc.process(7, 1).mounts(7, 2, roots);
        proc.process(8, 2).mounts(8, 3, "/state/claim\\040b");
        long size = Files.size(directory.resolve("7/mountinfo"));
        ProcDirectory little =
                proc.processes(new MountScan.Limits(size - 1, 1000), DescriptorLimits.USUAL);
        SeenMounts seen = little.mounts(path -> CLAIM.matcher(path).matches());
        assertEquals(List.of(new ProcessId(7, 1)), seen.unread());
        assertEquals(
                List.of(new ProcessId(8, 2)),
                seen.holders().get(new MountedDirectory("254:0", "/state/claim b")));
        assertThrows(UncheckedIOException.class, () -> little.oldestWithMount(CLAIM));
        assertThrows(
                UncheckedIOException.class,
                () -> little.mounts(new ProcessId(7, 1), CLAIM.asMatchPredicate()));

        ProcDirectory enough =
                proc.processes(new MountScan.Limits(size, 1000), DescriptorLimits.USUAL);
        assertEquals(Set.of("a", "b"), enough.oldestWithMount(CLAIM).keySet());
    }

    /** A container mounts many after its engine has mounted its claim. */
    @Test
    void whatWasReadBeforeTheLimitIsSeen() throws IOException {
        String[] roots = new String[1000];
        Arrays.fill(roots, "/x".repeat(100));
        roots[0] = "/state/claim\\040a";
        proc.process(7, 1).mounts(7, 2, roots);
        SeenMounts seen =
                proc.processes(new MountScan.Limits(20_000, 1000), DescriptorLimits.USUAL)
                        .mounts(path -> CLAIM.matcher(path).matches());
        ProcessId process = new ProcessId(7, 1);
        assertEquals(List.of(process), seen.unread());
        assertEquals(
                Map.of(new MountedDirectory("254:0", "/state/claim a"), List.of(process)),
                seen.holders());
    }

    @Test
    void loginUidIsOfWhoLoggedIn() throws IOException {
        proc.file("7/loginuid", "1000").file("8/loginuid", "4294967295").file("9/loginuid", "");
        assertEquals(OptionalInt.of(1000), proc.processes().loginUid(7));
        assertEquals(OptionalInt.empty(), proc.processes().loginUid(8));
        assertEquals(OptionalInt.empty(), proc.processes().loginUid(9));
        assertEquals(OptionalInt.empty(), proc.processes().loginUid(10));
    }

    @Test
    void effectiveUserIsTheOneWhoseRightsCount() throws IOException {
        proc.file("7/status", "Name:\tsu\nUid:\t1000\t0\t0\t0\nGid:\t7\t7\t7\t7\n");
        proc.file("8/status", "Name:\tx\nUid:\t4294967294\t4294967294\t0\t0\n");
        assertEquals(
                Optional.of(0),
                proc.processes(MountScan.Limits.USUAL, DescriptorLimits.USUAL).effectiveUser(7));
        assertEquals(
                Optional.of(-2),
                proc.processes(MountScan.Limits.USUAL, DescriptorLimits.USUAL).effectiveUser(8));
        assertEquals(
                Optional.empty(),
                proc.processes(MountScan.Limits.USUAL, DescriptorLimits.USUAL).effectiveUser(9));
    }

    private Optional<ProcessId> find(int pid) {
        return proc.processes().find(pid);
    }

    private void assertOldest(Map<String, ProcessId> expected) {
        assertEquals(expected, proc.processes().oldestWithMount(CLAIM));
    }
}
