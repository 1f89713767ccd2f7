package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.attack.Attack;
import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.Directories;
import jnvdocker.tests.world.DriverRoot;
import jnvdocker.tests.world.TestDaemon;
import jnvdocker.tests.world.TestEngine;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** No command makes a container change the driver's files, which are the host's own. */
@Tag("docker")
@Tag("root")
@Attack(
        by = "a member, a container with SYS_ADMIN",
        what =
                "writes to the driver volume: without `:ro`, `docker cp`, `--volumes-from :rw`,"
                        + " a remount",
        result = "fails; the host's file keeps its bytes and time")
@Attack(
        by = "root, by mistake",
        what = "mounts something over the driver volume, or deletes it",
        result = "mounted again")
class WrittenVolumeTest {
    private static TestEngine engine;
    private static DriverRoot host;
    private static TestDaemon daemon;
    private static Path libcuda;
    private static String before;
    private static String volume;
    private static String inVolume;

    /** Starts a host with a libcuda that no other test host has. */
    @BeforeAll
    static void start() {
        engine = new TestEngine(TestEngine.Release.wanted());
        engine.image("plain", "--small");
        host = DriverRoot.make(DriverRoot.Release.DRIVER_535).slim();
        host.libcuda();
        libcuda = host.directory().resolve("usr/lib/x86_64-linux-gnu/libcuda.so." + host.version());
        daemon = new TestDaemon(engine, host);
        daemon.jnvdocker("gpu", "volume").run().ok();
        volume = "nvidia_driver_" + host.version();
        inVolume = "/w/lib64/libcuda.so." + host.version();
        before = facts();
    }

    @AfterAll
    static void stop() {
        engine.removeContainers();
        daemon.close();
        engine.close();
        host.close();
    }

    @AfterEach
    void hostHasItsOwnFile() {
        engine.removeContainers();
        assertEquals(before, facts());
    }

    private static String facts() {
        return Command.of("sh", "-c", "md5sum \"$0\"; stat -c '%s %Y %a' \"$0\"", libcuda)
                .run()
                .ok()
                .out();
    }

    private static Command.Result docker(Object... words) {
        return engine.docker(words).run();
    }

    private static Command.Result run(String script, Object... options) {
        List<Object> words = new ArrayList<>(List.of("run", "--rm", "--network", "none"));
        words.addAll(List.of("--volume-driver", "nvidia-docker", "-v", volume + ":/w"));
        words.addAll(List.of(options));
        words.addAll(List.of("plain", "sh", "-c", script));
        return docker(words.toArray());
    }

    @Test
    void writerGetsTheErrorOfAReadOnlyFileSystem() {
        List<String> scripts =
                List.of(
                        "echo x >> FILE",
                        "echo x > FILE",
                        "rm -f FILE",
                        "mv FILE /w/lib64/gone",
                        "chmod 777 FILE",
                        "touch FILE",
                        "touch /w/lib64/new",
                        "cp /bin/busybox FILE");
        String each = "(" + String.join("); (", scripts).replace("FILE", inVolume) + "); true";
        Command.Result result = run(each).ok();
        assertEquals(
                scripts.size(),
                result.err().lines().filter(it -> it.contains("Read-only file system")).count(),
                result::toString);
    }

    /** Commands that make a read-only bind mount writable leave this one read-only. */
    @Test
    void remountWithTheRightToMountGivesNone() {
        String write = "; (echo x >> " + inVolume + ")";
        Command.Result result =
                run(
                        "mount -o remount,rw /w"
                                + write
                                + "; mount -o remount,bind,rw /w"
                                + write
                                + "; true",
                        "--cap-add=SYS_ADMIN",
                        "--security-opt=apparmor=unconfined",
                        "--security-opt=seccomp=unconfined");
        List<String> refused =
                result.ok().err().lines().filter(line -> line.contains(inVolume)).toList();
        assertEquals(2, refused.size(), result::toString);
        refused.forEach(line -> assertTrue(line.contains("Read-only file system"), line));
    }

    @Test
    void copyingInAndVolumesOfAnotherContainerGiveNone() throws IOException {
        docker(
                        "create",
                        "--name",
                        "first",
                        "--volume-driver",
                        "nvidia-docker",
                        "-v",
                        volume + ":/w",
                        "plain")
                .ok();
        Path file = Files.writeString(host.directory().resolve("file"), "x");
        for (String to : List.of(inVolume, "/w/lib64/new")) {
            Command.Result copied = docker("cp", file, "first:" + to);
            assertNotEquals(0, copied.exitCode(), copied::toString);
        }
        Command.Result written =
                docker(
                        "run",
                        "--rm",
                        "--volumes-from",
                        "first:rw",
                        "plain",
                        "sh",
                        "-c",
                        "echo x >> " + inVolume);
        assertTrue(written.err().contains("Read-only file system"), written::toString);
        docker("cp", "first:" + inVolume, host.directory().resolve("copied")).ok();
    }

    private static Path run() {
        return daemon.socket().getParent();
    }

    private static Path point() {
        return run().resolve("volumes/nvidia_driver").resolve(host.version());
    }

    private static Path directory() {
        return daemon.state().resolve("volumes/nvidia_driver").resolve(host.version());
    }

    private static String fileSystem() {
        return Command.of("stat", "-c", "%d", point()).run().ok().out();
    }

    private static void restartDaemon() {
        daemon.kill();
        daemon.jnvdocker("gpu", "volume").run().ok();
    }

    @Test
    void daemonThatWasKilledLeavesTheMountToTheNext() {
        docker(
                        "run",
                        "-d",
                        "--name",
                        "reader",
                        "--volume-driver",
                        "nvidia-docker",
                        "-v",
                        volume + ":/w",
                        "plain",
                        "sleep",
                        "1000")
                .ok();
        String before = fileSystem();
        restartDaemon();
        run("ls " + inVolume).ok();
        assertEquals(before, fileSystem());
        assertEquals(List.of(point().toString()), Directories.mountedBelow(run()));
        // A container has its own mount, whatever happens to ours.
        daemon.stop();
        Command.of("umount", point()).run().ok();
        daemon.jnvdocker("gpu", "volume").run().ok();
        docker("exec", "reader", "ls", inVolume).ok();
        assertNotEquals(before, fileSystem());
        assertTrue(run("echo x >> " + inVolume).err().contains("Read-only file system"));
    }

    /** As {@code gpu volume --verify} advises. */
    @Test
    void volumeThatWasRebuiltIsMountedAgain() {
        Directories.remove(directory());
        run("ls " + inVolume).ok();
        assertEquals(List.of(point().toString()), Directories.mountedBelow(run()));
        // This also works when no daemon saw it happen.
        daemon.stop();
        Directories.remove(directory());
        daemon.jnvdocker("gpu", "volume").run().ok();
        run("ls " + inVolume).ok();
    }

    @Test
    void whatIsMountedThereBySomebodyElseIsNotServed() {
        daemon.stop();
        Command.of("mount", "-t", "tmpfs", "none", point()).run().ok();
        daemon.jnvdocker("gpu", "volume").run().ok();
        run("ls " + inVolume).ok();
        assertEquals(List.of(point().toString()), Directories.mountedBelow(run()));
    }

    @Test
    void engineThatDoesNotSeeTheMountGetsACopyAndThatIsSaid() throws IOException {
        String dockerd = Files.readString(engine.socket().resolveSibling("docker.pid")).strip();
        Command.of("nsenter", "-m", "-t", dockerd, "umount", point()).run().ok();
        run("printf x | dd conv=notrunc of=" + inVolume).ok();
        assertEquals("xEL", run("head -c 3 " + inVolume).ok().out());
        assertEquals(before, facts());
        String why = "process " + dockerd + ", which starts them, does not see " + point();
        Path copy = daemon.state().resolve("volumes/nvidia_driver_copy").resolve(host.version());
        assertTrue(
                daemon.jnvdocker("gpu", "volume")
                        .run()
                        .ok()
                        .out()
                        .contains("Served:      " + copy + ", writable: " + why));
        String found = daemon.jnvdocker("gpu", "doctor").run().out();
        assertTrue(found.contains(why), found);
        assertTrue(Files.readString(daemon.log()).contains(why));
        assertTrue(
                daemon.jnvdocker("gpu", "volume", "--verify")
                        .run()
                        .out()
                        .contains("wrong: " + copy.resolve("lib64/libcuda.so." + host.version())));
        daemon.stop();
        Command.of("umount", point()).run().ok();
        Directories.remove(copy);
        daemon.jnvdocker("gpu", "volume").run().ok();
        assertTrue(run("echo x >> " + inVolume).err().contains("Read-only file system"));
    }

    @Test
    void uninstallLeavesNothingMounted() {
        assertEquals(List.of(point().toString()), Directories.mountedBelow(run()));
        daemon.jnvdocker("gpu", "uninstall").run().ok();
        assertEquals(List.of(), Directories.mountedBelow(run()));
        daemon.stop();
        daemon.jnvdocker("gpu", "volume").run().ok();
    }
}
