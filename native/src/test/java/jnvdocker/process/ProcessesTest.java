package jnvdocker.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import jnvdocker.attack.Attack;
import jnvdocker.host.DrmNodes;
import jnvdocker.posix.Posix;
import jnvdocker.posix.ProcessId;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.io.IOException;
import java.lang.ProcessBuilder.Redirect;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** This machine's own processes. */
@Attack(
        by = "any user",
        what = "makes thousands of mounts with long paths",
        result = "not a byte of them is read")
@Attack(
        by = "any user",
        what = "ends the first thread of a process",
        result = "the other threads are scanned")
class ProcessesTest {
    private static final String ID = "jnvdocker-test-" + ProcessHandle.current().pid();

    @TempDir Path directory;
    private final Processes processes = Processes.ofThisMachine();
    private final List<Process> started = new ArrayList<>();
    private final List<Path> groups = new ArrayList<>();

    @AfterEach
    void cleanUp() throws Exception {
        for (Process process : started) {
            kill(process);
        }
        for (Path group : groups.reversed()) {
            await(() -> !processes.hasProcesses(group.toString()));
            Files.delete(group);
        }
    }

    @Test
    void weAreAlive() {
        ProcessId us = processes.find((int) ProcessHandle.current().pid()).orElseThrow();
        assertTrue(processes.isAlive(us));
        assertFalse(processes.isAlive(new ProcessId(us.pid(), us.startTime() + 1)));
    }

    @Test
    void killedChildIsDead() throws Exception {
        Process child = start("sleep", "1000");
        ProcessId id = find(child).orElseThrow();
        assertTrue(processes.isAlive(id));

        kill(child);
        assertFalse(processes.isAlive(id));
        assertEquals(Optional.empty(), find(child));
    }

    @Test
    void numberThatNoProcessCanHaveHasNone() {
        assertEquals(Optional.empty(), processes.find(Integer.MAX_VALUE));
    }

    @Test
    void zombieIsDead() throws Exception {
        Process parent = start("sh", "-c", "sleep 1000 & echo $!; exec sleep 1000");
        int pid = Integer.parseInt(firstLine(parent));
        ProcessId child = processes.find(pid).orElseThrow();
        // The shell would wait for its child; the sleep that it becomes does not.
        await(() -> status(parent).startsWith("Name:\tsleep\n"));

        ProcessHandle.of(pid).orElseThrow().destroyForcibly();
        await(() -> !processes.isAlive(child));
        assertTrue(Files.exists(Path.of("/proc/" + pid)), "it is not waited for");
    }

    /** Where the freezer is of version 1: version 2 lets killed processes end. */
    @Test
    @Tag("root")
    void killedProcessOfAFrozenCgroupEndsWhenThatIsThawed() throws Exception {
        Path freezer = Path.of("/sys/fs/cgroup/freezer");
        assumeTrue(Files.isDirectory(freezer), "no freezer of version 1");
        Path group =
                Files.createDirectory(freezer.resolve("frozen-" + ProcessHandle.current().pid()));
        groups.add(group);
        Process child = start("sleep", "1000");
        ProcessId id = find(child).orElseThrow();
        Files.writeString(group.resolve("cgroup.procs"), id.pid() + "");
        Path state = group.resolve("freezer.state");
        assertFalse(processes.isFrozen(id));
        Files.writeString(state, "FROZEN");
        await(() -> processes.isFrozen(id));
        start("kill", "-KILL", "" + id.pid()).waitFor();
        assertTrue(processes.isKilled(id));
        Files.writeString(state, "THAWED");
        await(() -> !processes.isAlive(id));
        assertFalse(processes.isFrozen(id));
    }

    @Test
    void stoppedProcessIsAliveAndKnownToBeStopped() throws Exception {
        Process child = start("sleep", "1000");
        ProcessId id = processes.find((int) child.pid()).orElseThrow();
        assertFalse(processes.isStopped(id));
        start("kill", "-STOP", "" + child.pid()).waitFor();
        await(() -> processes.isStopped(id));
        assertTrue(processes.isAlive(id));
        assertFalse(processes.isStopped(new ProcessId(id.pid(), id.startTime() + 1)));
        start("kill", "-CONT", "" + child.pid()).waitFor();
        await(() -> !processes.isStopped(id));
    }

    @Test
    void processWhoseFirstThreadAloneHasEndedIsAlive() throws Exception {
        Process child = start(withoutFirstThread().toString());
        await(() -> status(child).contains("State:\tZ"));
        ProcessId id = find(child).orElseThrow();
        kill(child);
        assertFalse(processes.isAlive(id));
    }

    /** A program that may open a file, and whose first thread ends. */
    private Path withoutFirstThread() throws Exception {
        Path source = directory.resolve("first-thread-ends.c");
        Path program = directory.resolve("first-thread-ends");
        Files.writeString(
                source,
                """
                #include <fcntl.h>
                #include <pthread.h>
                #include <unistd.h>
                static void *wait_for_ever(void *unused) { for (;;) pause(); return unused; }
                int main(int count, char **arguments) {
                    pthread_t thread;
                    if (count > 1)
                        open(arguments[1], O_RDONLY);
                    pthread_create(&thread, 0, wait_for_ever, 0);
                    pthread_exit(0);
                }
                """);
        Process compiler = start("gcc", "-pthread", "-o", program + "", source + "");
        assertEquals(0, compiler.waitFor());
        return program;
    }

    /** Major 1 has /dev/full as minor 7 and /dev/zero as 5. */
    @Test
    void whoHasADeviceOpenIsSeenByTheDeviceAndNotTheName() throws Exception {
        Path link = Files.createSymbolicLink(directory.resolve("a link"), Path.of("/dev/full"));
        Process full = start("sh", "-c", "exec sleep 1000 <\"$0\"", link + "");
        Process file = start("sh", "-c", "exec sleep 1000 3<>\"$0\"", directory + "/nvidia7");
        await(() -> minors(full).equals(Set.of(7)));
        assertEquals(Set.of(), minors(file));
        assertTrue(Files.exists(directory.resolve("nvidia7")));
        assertTrue(
                processes.usersOf(2, DrmNodes.MAJOR).users().stream()
                        .noneMatch(user -> user.minors().contains(7)),
                "of another major");
        kill(full);
        assertEquals(Set.of(), minors(full));
    }

    @Test
    @Tag("root")
    void nodeOfAnyDirectoryIsSeenByItsName() throws Exception {
        Path node = directory.resolve("nvidia7");
        Posix.mknod(node, 0600, 1, 7);
        Process process = start("sh", "-c", "exec sleep 1000 3<\"$0\"", node + "");
        await(() -> minors(process).equals(Set.of(7)));
        Files.delete(node);
        assertEquals(Set.of(7), minors(process));
    }

    /** {@code /proc/<pid>/fd} shows nothing of such a process. */
    @Test
    void deviceIsSeenOfAProcessWhoseFirstThreadHasEnded() throws Exception {
        Process process = start(withoutFirstThread().toString(), "/dev/full");
        await(() -> status(process).contains("State:\tZ"));
        assertEquals(Set.of(7), minors(process));
    }

    private Set<Integer> minors(Process process) {
        return processes.usersOf(1, DrmNodes.MAJOR).users().stream()
                .filter(user -> user.process().pid() == process.pid())
                .findFirst()
                .<Set<Integer>>map(DeviceUser::minors)
                .orElse(Set.of());
    }

    @Test
    void processHasANameAProgramAndAUser() throws Exception {
        Process process = start("sleep", "1000");
        await(() -> status(process).startsWith("Name:\tsleep\n"));
        ProcessId id = find(process).orElseThrow();
        ProcessTraits traits = processes.traits(id).orElseThrow();
        assertEquals("sleep", traits.name());
        Path program = Path.of(process.info().command().orElseThrow());
        assertEquals(program.getFileName().toString(), traits.program());
        int user = (int) Files.getAttribute(directory, "unix:uid");
        int shown = user == 0 ? processes.loginUid(id.pid()).orElse(user) : user;
        assertEquals(shown, traits.uid());
        kill(process);
        assertEquals(Optional.empty(), processes.traits(id));
    }

    /** Apptainer's programs have these names; its processes mostly have no cgroup of their own. */
    @ParameterizedTest
    @CsvSource({
        "starter, apptainer's container, kill PID",
        "appinit, apptainer's instance, apptainer instance stop NAME (see apptainer instance list)",
    })
    void processOfApptainersIsKnownByTheProgramThatKeepsIt(
            String program, String title, String stop) throws Exception {
        Path keeper = Files.copy(Path.of("/bin/sh").toRealPath(), directory.resolve(program));
        Process process = start(keeper + "", "-c", "sleep 1000 & echo $!; wait");
        int pid = Integer.parseInt(firstLine(process));
        OtherContainer other =
                processes
                        .traits(processes.find(pid).orElseThrow())
                        .flatMap(ProcessTraits::other)
                        .orElseThrow();
        assertEquals(title, other.title());
        assertEquals(
                stop.replace("PID", pid + ""),
                other.toStop().replaceFirst("^sudo -u '#\\d+' ", ""));
    }

    @Test
    @Tag("root")
    void processOfAContainerHasItsIdAndTheUserItRunsAs() throws Exception {
        String container = "0d1f".repeat(16);
        Path group = group(cgroups().getFirst().resolve("docker-" + container + ".scope"));
        Process process = start("setpriv", "--reuid=23456", "--clear-groups", "sleep", "1000");
        await(() -> status(process).startsWith("Name:\tsleep\n"));
        ProcessId id = find(process).orElseThrow();
        assertEquals(Optional.empty(), processes.traits(id).orElseThrow().container());
        Files.writeString(group.resolve("cgroup.procs"), String.valueOf(process.pid()));
        assertEquals(
                new ProcessTraits(
                        "sleep", "sleep", 23456, Optional.of(container), Optional.empty()),
                processes.traits(id).orElseThrow());
    }

    @Test
    @Tag("root")
    void oldestProcessOfAPrivateMountNamespaceHasItsMounts() throws Exception {
        Path source = Files.createDirectory(directory.resolve("a claim"));
        Path point = Files.createDirectory(directory.resolve("point"));
        String script = "mount --bind \"$0\" \"$1\"; sleep 1000 & echo; wait";
        Process holder = start("unshare", "-m", "sh", "-c", script, source + "", point + "");
        assertEquals("", firstLine(holder));

        Pattern root = Pattern.compile(".*/" + directory.getFileName() + "/a (.*)");
        assertEquals(Map.of("claim", find(holder).orElseThrow()), processes.oldestWithMount(root));
        assertEquals(1, mounts(holder, root));

        Files.delete(source);
        assertEquals(Map.of("claim", find(holder).orElseThrow()), processes.oldestWithMount(root));

        kill(holder);
        await(() -> processes.oldestWithMount(root).isEmpty());
    }

    /** In a user namespace of their own, users may mount anything. */
    @Test
    @Tag("root")
    void mountOfANamespaceThatIsNotRootsCountsForNothing() throws Exception {
        Path source = Files.createDirectories(directory.resolve("a claim"));
        Path point = Files.createDirectory(directory.resolve("point"));
        Posix.chmod(directory, 0755);
        String script = "mount --bind \"$0\" \"$1\" && echo; exec sleep 1000";
        Process nested =
                startAsNobody(
                        "unshare",
                        "-Urm",
                        "unshare",
                        "-Urm",
                        "sh",
                        "-c",
                        script,
                        source + "",
                        point + "");
        assertEquals("", firstLine(nested));
        Process ofRoot = start("unshare", "-Urm", "sh", "-c", script, source + "", point + "");
        assertEquals("", firstLine(ofRoot));

        Pattern root = Pattern.compile(".*/" + directory.getFileName() + "/a (.*)");
        assertEquals(Map.of("claim", find(ofRoot).orElseThrow()), processes.oldestWithMount(root));
        assertEquals(0, mounts(nested, root));
        assertEquals(1, mounts(ofRoot, root));
    }

    private int mounts(Process process, Pattern root) {
        return processes.mounts(find(process).orElseThrow(), root.asMatchPredicate()).size();
    }

    /** As many mounts as a user can make, with paths of any length. */
    @Test
    @Tag("root")
    void mountsOfANamespaceThatIsNotRootsAreNotRead() throws Exception {
        ProcDirectory directory = new ProcDirectory(Path.of("/proc"));
        Pattern none = Pattern.compile("/none(.*)");
        assertEquals(Map.of(), directory.oldestWithMount(none));
        long before = directory.mountScan().bytesRead();
        String script =
                "mount -t tmpfs none /mnt && cd /mnt && set 1 2 3 4 5 6 7 8 9 10 11 12 &&"
                        + " mkdir -p $0/$0/$0/$0/$0/$0/$0/$0 deep $* &&"
                        + " mount --bind $0/$0/$0/$0/$0/$0/$0/$0 deep &&"
                        + " for i; do mount --rbind . $i; done;"
                        + " wc -c < /proc/self/mountinfo; exec sleep 1000";
        Process nobodys = startAsNobody("unshare", "-Urm", "sh", "-c", script, "x".repeat(200));
        long size = Long.parseLong(firstLine(nobodys));
        assertTrue(size > 4 << 20, "only " + size + " bytes");
        assertEquals(Map.of(), directory.oldestWithMount(none));
        long read = directory.mountScan().bytesRead() - before;
        assertTrue(read < before + (1 << 16), read + " bytes, and " + before + " before");
    }

    @Test
    @Tag("root")
    void containersCgroupIsFoundAndEmptiesWhenItsLastProcessEnds() throws Exception {
        Path outer = group(cgroups().getFirst().resolve(ID));
        Path inner = group(outer.resolve("inner"));
        Process child = start("sleep", "1000");
        ProcessId id = find(child).orElseThrow();
        assertEquals(Optional.empty(), processes.cgroup(id, ID));
        assertFalse(processes.hasProcesses(outer.toString()));

        Files.writeString(inner.resolve("cgroup.procs"), String.valueOf(child.pid()));
        assertEquals(Optional.of(outer.toString()), processes.cgroup(id, ID));
        assertTrue(processes.hasProcesses(outer.toString()));

        kill(child);
        assertEquals(Optional.empty(), processes.cgroup(id, ID));
        await(() -> !processes.hasProcesses(outer.toString()));
    }

    @Test
    @Tag("root")
    void hierarchiesOfBothVersionsSayWhetherAProcessIsLeft() throws Exception {
        for (Path hierarchy : cgroups()) {
            Path group = group(hierarchy.resolve(ID));
            assertFalse(processes.hasProcesses(group.toString()), hierarchy.toString());

            Process child = start("sleep", "1000");
            Files.writeString(group.resolve("cgroup.procs"), String.valueOf(child.pid()));
            assertTrue(processes.hasProcesses(group.toString()), hierarchy.toString());
            ProcessId id = find(child).orElseThrow();
            assertTrue(processes.isAlone(id, group.toString()), hierarchy.toString());
            Process other = start("sleep", "1000");
            Files.writeString(group.resolve("cgroup.procs"), String.valueOf(other.pid()));
            assertFalse(processes.isAlone(id, group.toString()), hierarchy.toString());
            kill(other);

            kill(child);
            await(() -> !processes.hasProcesses(group.toString()));
            Files.delete(group);
            groups.remove(group);
            assertFalse(processes.hasProcesses(group.toString()), hierarchy.toString());
        }
    }

    /**
     * Returns the hierarchies of this machine that matter, starting with the one that distinguishes
     * containers.
     */
    private static List<Path> cgroups() {
        return Stream.of("devices", "unified", "")
                .map(Path.of("/sys/fs/cgroup")::resolve)
                .filter(directory -> Files.exists(directory.resolve("cgroup.procs")))
                .toList();
    }

    private Path group(Path directory) throws IOException {
        groups.add(Files.createDirectory(directory));
        return directory;
    }

    private Process startAsNobody(String... command) throws IOException {
        List<String> words =
                new ArrayList<>(
                        List.of("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"));
        words.addAll(List.of(command));
        return start(words.toArray(new String[0]));
    }

    private Process start(String... command) throws IOException {
        Process process = new ProcessBuilder(command).redirectError(Redirect.INHERIT).start();
        started.add(process);
        return process;
    }

    private static void kill(Process process) throws InterruptedException {
        process.descendants().forEach(ProcessHandle::destroyForcibly);
        process.destroyForcibly().waitFor();
    }

    private Optional<ProcessId> find(Process process) {
        return processes.find((int) process.pid());
    }

    private static String firstLine(Process process) throws IOException {
        return process.inputReader().readLine();
    }

    private static String status(Process process) throws IOException {
        return Files.readString(Path.of("/proc/" + process.pid() + "/status"));
    }

    /** Waits for an effect that the kernel delays for a moment. */
    private static void await(Callable<Boolean> condition) throws Exception {
        long end = System.nanoTime() + 60_000_000_000L;
        while (!condition.call()) {
            assertTrue(System.nanoTime() < end, "it never came");
            Thread.sleep(5);
        }
    }
}
