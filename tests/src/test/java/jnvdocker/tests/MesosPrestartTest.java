package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.Directories;
import jnvdocker.tests.world.SanitizedClient;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * The program that Mesos' helper runs before it enters a container with a hostile image: it follows
 * its instructions, and changes nothing on the host.
 */
@Tag("root")
class MesosPrestartTest {
    private static final Path DEVICES = Path.of("/sys/fs/cgroup/devices");
    private static final String OWN_CGROUP =
            "jnvdocker: the agent has not put the container into a devices cgroup of its own; start"
                    + " it with --isolation=...,cgroups/devices\n";

    /** A host with shared mounts, and in it a container's namespace as the helper leaves it. */
    private static final String HOST =
            """
            mount --make-rshared /
            unshare -m --propagation slave bash -euc "$1"
            code=$?
            grep " $root/" /proc/self/mountinfo && echo "on the host"
            exit $code
            """;

    private static final String CONTAINER =
            """
            mount --bind "$root" "$root"
            mount --bind "$root/dev" "$root/dev"
            mount -t tmpfs -o nosuid,noexec,mode=755 tmpfs "$root/dev"
            tries() { (exec 3<> "$1") 2>&1 && echo ok; true; }
            """;

    private static final String MOUNT =
            "\"$prestart\" apply rootfs \"$root\" mount \"$driver\" /usr/local/nvidia\n";

    private final Path directory = Directories.make("prestart");
    private final Path root = directory.resolve("root");
    private final Path driver = directory.resolve("driver");
    private final Path cgroup = DEVICES.resolve(directory.getFileName());
    private final Path nested = cgroup.resolve("mesos/inner");

    @BeforeEach
    void makeImage() throws IOException {
        Files.createDirectories(root.resolve("usr"));
        Files.createDirectory(root.resolve("dev"));
        Files.writeString(Files.createDirectory(driver).resolve("libcuda.so.1"), "driver");
        // All devices are denied while it is empty, since the kernel would refuse that later.
        for (Path one : List.of(cgroup, nested)) {
            Files.createDirectories(one);
            Files.writeString(one.resolve("devices.deny"), "a");
            Files.writeString(one.resolve("devices.allow"), "c *:* m");
            Files.writeString(one.resolve("devices.allow"), "b *:* m");
            Files.writeString(one.resolve("devices.allow"), "c 1:3 rwm");
        }
    }

    @AfterEach
    void removeAll() throws IOException {
        for (Path one : List.of(nested, nested.getParent(), cgroup)) {
            Files.delete(one);
        }
        Directories.remove(directory);
    }

    // ---- the driver's directory ----

    @Test
    void driverIsReadOnlyAndNotOnTheHost() {
        Command.Result result =
                run(
                        MOUNT
                                + """
                                cat "$root/usr/local/nvidia/libcuda.so.1"; echo
                                touch "$root/usr/local/nvidia/x" 2>&1 || true
                                grep -o "/nvidia ro,nosuid,nodev" /proc/self/mountinfo
                                """);
        assertEquals(0, result.exitCode(), result::toString);
        List<String> lines = result.out().lines().toList();
        assertEquals("driver", lines.getFirst());
        assertTrue(lines.get(1).endsWith("Read-only file system"), result::toString);
        assertEquals(List.of("/nvidia ro,nosuid,nodev"), lines.subList(2, lines.size()));
        assertTrue(empty(root.resolve("usr/local/nvidia")));
    }

    @ParameterizedTest
    @CsvSource({
        "/opt/local,opt/local",
        "../opt/local,opt/local",
        "../../../opt/local,opt/local",
        "/,''"
    })
    void linkInTheImageIsFollowedInTheImage(String link, String place) throws IOException {
        Files.createDirectories(root.resolve("opt/local"));
        Files.createSymbolicLink(root.resolve("usr/local"), Path.of(link));
        Command.Result result = run(MOUNT + "cat \"$root/" + place + "/nvidia/libcuda.so.1\"");
        assertEquals("driver", result.out(), result::toString);
        assertTrue(empty(root.resolve(place).resolve("nvidia")));
    }

    /** Whether or not the host has such a directory makes no difference. */
    @ParameterizedTest
    @CsvSource({
        "true,''",
        "false,''",
        "true,../../../../../../../../../..",
        "false,../../../../../../../../../.."
    })
    void linkOutOfTheImageIsRefused(boolean present, String up) throws IOException {
        Path escape = directory.resolve("escape");
        if (present) {
            Files.createDirectory(escape);
        }
        Files.createSymbolicLink(root.resolve("usr/local"), Path.of(up + escape));
        Command.Result result = run(MOUNT);
        assertFailed(result, "local is a link to '" + up + escape + "', which does not exist");
        assertEquals(present, Files.exists(escape));
        assertTrue(!present || empty(escape));
        assertFalse(Files.exists(root.resolve(escape.toString().substring(1))));
    }

    /** Here the link is the last component of the path. */
    @Test
    void linkInThePlaceItselfIsRefused() throws IOException {
        Files.createDirectories(root.resolve("usr/local"));
        Path escape = Files.createDirectory(directory.resolve("escape"));
        Files.createSymbolicLink(root.resolve("usr/local/nvidia"), escape);
        assertFailed(run(MOUNT), "nvidia is a link to '" + escape + "'");
        assertTrue(empty(escape));
    }

    @Test
    void linkThroughTheKernelIsRefused() throws IOException {
        Path escape = Files.createDirectory(directory.resolve("escape"));
        Files.createDirectory(root.resolve("proc"));
        Files.createSymbolicLink(root.resolve("usr/local"), Path.of("/proc/self/root" + escape));
        assertFailed(run("mount -t proc proc \"$root/proc\"\n" + MOUNT), "symbolic links");
        assertTrue(empty(escape));
    }

    @ParameterizedTest
    @CsvSource({"file,Not a directory", "loop,symbolic links"})
    void whatIsNoDirectoryIsRefused(String kind, String reason) throws IOException {
        Path local = root.resolve("usr/local");
        if (kind.equals("file")) {
            Files.writeString(local, "");
        } else {
            Files.createSymbolicLink(local, Path.of("local"));
        }
        assertFailed(run(MOUNT), reason);
    }

    @Test
    void imageThatCannotBeWrittenIsRefused() {
        assertFailed(run("mount -o remount,bind,ro \"$root\"\n" + MOUNT), "Read-only file system");
    }

    @Test
    void missingDriverIsRefused() {
        assertFailed(
                run("\"$prestart\" apply rootfs \"$root\" mount /nowhere /usr/local/nvidia"),
                "cannot open '/nowhere'");
        assertFalse(Files.exists(root.resolve("usr/local")));
    }

    // ---- device nodes ----

    @Test
    void nodesAreForEverybody() {
        Command.Result result =
                run(
                        """
                        echo $$ > "$cgroup/cgroup.procs"
                        umask 077
                        mknod -m 600 "$root/dev/nvidiactl" c 195 255
                        "$prestart" apply device /dev/nvidia4095 195 0 rootfs "$root" cgroup "$cgroup" \
                            device /dev/nvidiactl 195 255
                        stat -c '%n %f %t:%T' "$root"/dev/*
                        tries "$root/dev/nvidia4095"
                        tries "$root/dev/nvidiactl"
                        mknod "$root/dev/nvidia1" c 195 1
                        tries "$root/dev/nvidia1"
                        """);
        assertEquals(0, result.exitCode(), result::toString);
        List<String> lines = result.out().lines().toList();
        assertEquals(root + "/dev/nvidia4095 21b6 c3:0", lines.getFirst());
        assertEquals(root + "/dev/nvidiactl 21b6 c3:ff", lines.get(1));
        assertTrue(lines.get(2).endsWith("No such device or address"), result::toString);
        assertTrue(lines.get(3).endsWith("No such device or address"), result::toString);
        assertTrue(lines.get(4).endsWith("Operation not permitted"), result::toString);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "mknod \"$root/dev/nvidia4095\" c 195 1",
                "mknod \"$root/dev/nvidia4095\" b 195 0",
                "touch \"$root/dev/nvidia4095\"",
                "ln -s /dev/null \"$root/dev/nvidia4095\"",
                "ln -s nowhere \"$root/dev/nvidia4095\"",
                "mkdir \"$root/dev/nvidia4095\"",
            })
    void whatIsThereAlreadyMustBeTheSameDevice(String made) {
        assertFailed(
                device(made), "/dev/nvidia4095 exists in the container and is not device 195:0");
    }

    @Test
    void nodeIsMadeInATmpfsOfTheContainerAlone() throws IOException {
        String none = "the container's /dev is not a tmpfs of its own";
        assertFailed(device("umount \"$root/dev\""), none);
        assertFailed(device("umount \"$root/dev\"; umount \"$root/dev\""), none);
        assertFailed(device("mount --bind /dev \"$root/dev\""), none);
        // The whole image lies in a tmpfs, which is not a /dev of its own.
        assertFailed(device("mount -t tmpfs tmpfs \"$root\"; mkdir \"$root/dev\""), none);
        assertTrue(empty(root.resolve("dev")));
        assertFalse(Files.exists(Path.of("/dev/nvidia4095"), LinkOption.NOFOLLOW_LINKS));
    }

    @Test
    void linkInThePlaceOfDevIsRefused() throws IOException {
        Files.createDirectory(root.resolve("other"));
        String moved =
                "umount \"$root/dev\"; umount \"$root/dev\"; rmdir \"$root/dev\"; ln -s other"
                        + " \"$root/dev\"; mount -t tmpfs tmpfs \"$root/other\"";
        assertFailed(device(moved), "cannot open /dev of the container");
        assertTrue(empty(root.resolve("other")));
    }

    // ---- cgroups ----

    @Test
    void withoutAnImageOnlyTheRulesAreSet() throws IOException {
        Command.Result result =
                run(
                        """
                        echo $$ > "$cgroup/cgroup.procs"
                        "$prestart" apply cgroup "$cgroup" device /dev/nvidia4095 195 0 device /dev/nvidia-uvm 510 0 \
                            mount "$driver" /usr/local/nvidia
                        ls "$root/dev" "$root/usr"
                        mknod "$root/dev/uvm" c 510 0
                        tries "$root/dev/uvm"
                        """);
        assertEquals(0, result.exitCode(), result::toString);
        assertTrue(result.out().contains("No such device or address"), result::toString);
        assertFalse(result.out().contains("nvidia"), result::toString);
        assertEquals(
                "c *:* m\nb *:* m\nc 1:3 rwm\nc 195:0 rw\nc 510:0 rw\n",
                Files.readString(cgroup.resolve("devices.list")));
    }

    @Test
    void parentIsAllowedBeforeItsChild() throws IOException {
        String script =
                """
                echo $$ > "$cgroup/mesos/inner/cgroup.procs"
                "$prestart" apply %s cgroup "$cgroup/mesos/inner" device /dev/nvidia4095 195 0
                mknod "$root/dev/nvidia4095" c 195 0
                tries "$root/dev/nvidia4095"
                """;
        assertFailed(
                run(script.formatted("")),
                "cannot allow /dev/nvidia4095 (c 195:0 rw) in the cgroup '" + nested);
        Command.Result result =
                run(script.formatted("cgroup \"$cgroup\" cgroup \"$cgroup/mesos\""));
        assertTrue(result.out().contains("No such device or address"), result::toString);
        for (Path one : List.of(cgroup, nested)) {
            assertTrue(Files.readString(one.resolve("devices.list")).contains("c 195:0 rw\n"));
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "cgroup \"$cgroup/mesos/inner\"",
                "cgroup \"$cgroup/mesos/inner\" cgroup \"$cgroup\"",
                "cgroup \"$cgroup\" cgroup \"$cgroup/mesos/inner\"",
                "cgroup /sys/fs/cgroup/devices",
                "cgroup /sys/fs/cgroup/devices/",
                "cgroup /sys/fs/cgroup/devices cgroup \"$cgroup\"",
                "cgroup \"${cgroup%?}\"",
                "",
            })
    void anotherCgroupIsRefused(String words) throws IOException {
        Command.Result result =
                run(
                        "echo $$ > \"$cgroup/cgroup.procs\"\n\"$prestart\" apply rootfs \"$root\" "
                                + words
                                + " device /dev/nvidia4095 195 0 mount \"$driver\""
                                + " /usr/local/nvidia");
        assertEquals(1, result.exitCode(), result::toString);
        assertEquals(OWN_CGROUP, result.err());
        assertFalse(Files.readString(cgroup.resolve("devices.list")).contains("195"));
        assertFalse(Files.readString(nested.resolve("devices.list")).contains("195"));
        assertFalse(Files.exists(root.resolve("usr/local")));
    }

    @Test
    void containerWithoutACgroupIsRefused() {
        String words = "\"$prestart\" apply cgroup \"$cgroup\" device /dev/nvidia4095 195 0";
        Command.Result result = run("echo $$ > /sys/fs/cgroup/devices/cgroup.procs\n" + words);
        assertEquals(1, result.exitCode(), result::toString);
        assertEquals(OWN_CGROUP, result.err());
    }

    @Test
    void whatIsNoCgroupIsRefused() {
        String script =
                "echo $$ > \"$cgroup/cgroup.procs\"\n"
                        + "\"$prestart\" apply cgroup %s device /dev/nvidia4095 195 0";
        assertFailed(
                run(script.formatted("\"$driver\"")),
                "is not in a devices cgroup hierarchy of version 1");
        assertFailed(
                run(script.formatted("/sys/fs/cgroup/freezer/a")),
                "is not in a devices cgroup hierarchy of version 1");
    }

    // ---- words ----

    @ParameterizedTest
    @ValueSource(
            strings = {
                "other",
                "rootfs",
                "mount /a",
                "device /dev/nvidia4095 195",
                "cgroup",
                "rootfs relative",
                "rootfs /a rootfs /b",
                "mount driver /usr/local/nvidia",
                "mount / /usr/../local",
                "mount / /usr/..",
                "cgroup mesos/a",
                "device nvidia4095 195 0",
                "device /dev/ 195 0",
                "device /dev/. 195 0",
                "device /dev/.. 195 0",
                "device /dev/dri/card0 226 0",
                "device /etc/passwd 195 0",
                "device /dev/nvidia4095 -1 0",
                "device /dev/nvidia4095 195 0x",
                "device /dev/nvidia4095 +195 0",
                "device /dev/nvidia4095 4096 0",
                "device /dev/nvidia4095 195 1048576",
                "device /dev/nvidia4095 195 99999999999999999999",
            })
    void planThatIsNoneIsRefused(String words) {
        List<Object> all = new ArrayList<>(List.of(prestart(), "apply"));
        all.addAll(List.of(words.split(" ")));
        assertFailed(sound(all.toArray()), "; install client and daemon of the same version");
    }

    @Test
    void refusalIsSaidAsItIs() {
        Command.Result result = sound(prestart(), "refuse", "GPU 0 is held by %s; \"wait\"");
        assertEquals(1, result.exitCode());
        assertEquals("jnvdocker: GPU 0 is held by %s; \"wait\"\n", result.err());
        assertEquals("", result.out());
    }

    @Test
    void nothingElseIsDone() {
        for (String words : new String[] {"", "launch", "refuse", "refuse a b"}) {
            List<Object> all = new ArrayList<>(List.of(prestart()));
            all.addAll(words.isEmpty() ? List.of() : List.of(words.split(" ")));
            assertFailed(sound(all.toArray()), "only Mesos's helper runs");
        }
        assertEquals(0, sound(prestart(), "apply").exitCode());
    }

    /** No file that is opened may take a closed stream's number: messages would become rules. */
    @Test
    void closedStandardDescriptorsAreNoRules() throws IOException {
        Command.Result result =
                run(
                        """
                        echo $$ > "$cgroup/cgroup.procs"
                        "$prestart" apply rootfs "$root" cgroup "$cgroup" device /dev/nvidia4095 195 0 0<&- 1>&- 2>&-
                        test -c "$root/dev/nvidia4095"
                        """);
        assertEquals(0, result.exitCode(), result::toString);
        assertTrue(Files.readString(cgroup.resolve("devices.list")).contains("c 195:0 rw\n"));
    }

    /** The fetcher has emptied the file after some of them; a pipe may lead anywhere. */
    @Test
    void remarksThatAreGoneAreRepeated() throws IOException {
        String script =
                "printf 'fetched\\ntwo\\n' > \"$1\"; export JNVDOCKER_REMARKS=$'one\\ntwo\\nlast';"
                        + " \"$0\" refuse why 2>> \"$1\"; \"$0\" apply 2>&1 > /dev/null | cat";
        Path file = directory.resolve("stderr");
        Command.Result result = sound("bash", "-c", script, prestart(), file);
        assertEquals("fetched\ntwo\none\njnvdocker: why\n", Files.readString(file));
        assertEquals("one\ntwo\n", result.ok().out());
    }

    // ---- ----

    private Command.Result device(String before) {
        return run(
                "echo $$ > \"$cgroup/cgroup.procs\"\n"
                        + before
                        + "\n"
                        + "\"$prestart\" apply rootfs \"$root\" cgroup \"$cgroup\" device"
                        + " /dev/nvidia4095 195 0");
    }

    /**
     * Runs the script in the container's namespace, and asserts that none of its mounts appears on
     * the host.
     */
    private Command.Result run(String script) {
        Command.Result result =
                Command.of(
                                "unshare",
                                "-m",
                                "--propagation",
                                "private",
                                "bash",
                                "-c",
                                HOST,
                                "host",
                                CONTAINER + script)
                        .with("root", root)
                        .with("driver", driver)
                        .with("cgroup", cgroup)
                        .with("prestart", prestart())
                        .with("LC_ALL", "C.UTF-8")
                        .with("ASAN_OPTIONS", "detect_leaks=0")
                        .run();
        assertFalse(result.out().contains("on the host"), result::toString);
        return result;
    }

    /** Runs a command without leak checks: the kernel frees memory still in use at its end. */
    private static Command.Result sound(Object... words) {
        return Command.of(words).with("ASAN_OPTIONS", "detect_leaks=0").run();
    }

    private static void assertFailed(Command.Result result, String reason) {
        assertEquals(1, result.exitCode(), result::toString);
        assertTrue(result.err().startsWith("jnvdocker: "), result::toString);
        assertTrue(result.err().contains(reason), result::toString);
    }

    private static boolean empty(Path directory) {
        try (var files = Files.list(directory)) {
            return files.findAny().isEmpty();
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    private static Path prestart() {
        return SanitizedClient.mesosPrograms().resolve("jnvdocker-prestart");
    }
}
