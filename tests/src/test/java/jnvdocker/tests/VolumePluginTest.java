package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

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

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** The volume plugin as dockerd sees it. */
@Tag("docker")
@Tag("root")
class VolumePluginTest {
    private static TestEngine engine;
    private static DriverRoot host;
    private static TestDaemon daemon;
    private static String volume;

    @BeforeAll
    static void start() {
        engine = new TestEngine();
        engine.image("plain");
        host = DriverRoot.make(DriverRoot.Release.DRIVER_535);
        daemon = new TestDaemon(engine, host);
        daemon.jnvdocker("gpu", "ls").run().ok();
        volume = "nvidia_driver_" + host.version();
    }

    @AfterAll
    static void stop() {
        daemon.close();
        engine.close();
        host.close();
    }

    @AfterEach
    void nothingIsLeft() {
        engine.removeContainers();
        engine.docker("volume", "ls", "-q")
                .run()
                .ok()
                .out()
                .lines()
                .forEach(name -> engine.docker("volume", "rm", name).run());
        if (!daemon.environment().get("JNVDOCKER_HOST_ROOT").equals(host.directory().toString())) {
            load(host);
        }
    }

    @Test
    void volumeLivesItsLifeInDocker() {
        assertEquals(
                volume + "\n",
                engine.docker("volume", "create", "-d", "nvidia-docker", volume).run().ok().out());
        engine.docker("volume", "create", "-d", "nvidia-docker", volume).run().ok();
        Path directory = daemon.state().resolve("volumes/nvidia_driver/" + host.version());
        assertTrue(engine.docker("volume", "ls").run().ok().out().contains(volume));
        assertEquals(
                "nvidia-smi\n",
                engine.docker(
                                "run",
                                "--rm",
                                "-v",
                                volume + ":/x:ro",
                                "plain",
                                "sh",
                                "-c",
                                "cd /x/bin && ls nvidia-smi")
                        .run()
                        .ok()
                        .out());
        Path served =
                daemon.socket().resolveSibling("volumes/nvidia_driver").resolve(host.version());
        assertEquals(
                served + " " + host.version() + "\n",
                engine.docker(
                                "volume",
                                "inspect",
                                "-f",
                                "{{.Mountpoint}} {{.Status.driver}}",
                                volume)
                        .run()
                        .ok()
                        .out());
        engine.docker("volume", "rm", volume).run().ok();
        assertFalse(Files.exists(directory));
    }

    @Test
    void commandLineOfNvidiaDockerStillWorks() {
        engine.docker(
                        "run",
                        "--rm",
                        "--volume-driver=nvidia-docker",
                        "--volume=" + volume + ":/usr/local/nvidia:ro",
                        "plain",
                        "test",
                        "-x",
                        "/usr/local/nvidia/bin/nvidia-smi")
                .run()
                .ok();
    }

    @Test
    void volumeOfAnotherVersionIsNotMade() {
        Command.Result result =
                engine.docker("volume", "create", "-d", "nvidia-docker", "nvidia_driver_999.2")
                        .run();
        assertEquals(1, result.exitCode());
        assertTrue(
                result.err()
                        .contains(
                                "invalid volume version: nvidia_driver_999.2; driver "
                                        + host.version()
                                        + " is loaded, use the volume "
                                        + volume),
                result::toString);
    }

    /** Docker repeats for half a minute what it cannot send. */
    @Test
    void volumeWithTooManyOptionsIsRefusedAtOnce() {
        for (int options : new int[] {100, 1000}) {
            List<Object> words =
                    new ArrayList<>(List.of("volume", "create", "-d", "nvidia-docker"));
            for (int i = 0; i < options; i++) {
                words.add("--opt=o" + i + "=" + "x".repeat(1000));
            }
            words.add("nvidia_driver_999.2");
            long begun = System.nanoTime();
            Command.Result result = engine.docker(words.toArray()).run();
            assertEquals(1, result.exitCode());
            assertTrue(result.err().contains("; give the volume fewer options"), result::toString);
            assertTrue(System.nanoTime() - begun < 10_000_000_000L, result::toString);
        }
    }

    @Test
    void namesThatAreNotOursAreRefusedInTheWordsOfNvidiaDocker() {
        for (String[] wrong :
                new String[][] {
                    {"nonsense", "bad volume format: nonsense; use nvidia_driver_<version>"},
                    {
                        "cuda_files_1.2",
                        "unsupported volume: cuda_files_1.2; use nvidia_driver_<version>"
                    },
                    {
                        "nvidia_driver_..",
                        "bad volume format: nvidia_driver_..; use nvidia_driver_<version>"
                    },
                    {
                        "nvidia_driver_535",
                        "bad volume format: nvidia_driver_535; use nvidia_driver_<version>"
                    },
                }) {
            Command.Result result =
                    engine.docker("volume", "create", "-d", "nvidia-docker", wrong[0]).run();
            assertEquals(1, result.exitCode(), wrong[0]);
            assertTrue(result.err().contains(wrong[1]), result::toString);
        }
    }

    @Test
    void containerOfAnOlderDriverGetsTheLoadedOnesFiles() {
        String id = container("cat", "/usr/local/nvidia/manifest.json");
        try (DriverRoot newer = DriverRoot.make(DriverRoot.Release.DRIVER_550)) {
            load(newer);
            Command.Result started = engine.docker("start", "-a", id).run().ok();
            assertTrue(started.out().contains(newer.version()), started::toString);
            // This is also true when the old volume is lost.
            Directories.remove(daemon.state().resolve("volumes/nvidia_driver/" + host.version()));
            engine.docker("start", "-a", id).run().ok();
        }
    }

    @Test
    void containerOfANewerDriverGetsTheRemedy() {
        String id = container("true");
        try (DriverRoot older = DriverRoot.make(DriverRoot.Release.DRIVER_470)) {
            load(older);
            Command.Result started = engine.docker("start", "-a", id).run();
            assertEquals(1, started.exitCode());
            assertTrue(
                    started.err()
                            .contains(
                                    volume
                                            + " is of a newer driver than "
                                            + older.version()
                                            + ", which is loaded; create the container again with"
                                            + " 'jnvdocker run'"),
                    started::toString);
        }
    }

    private String container(String... command) {
        List<Object> words = new ArrayList<>(List.of("create", "--gpus", "none", "plain"));
        words.addAll(List.of(command));
        return daemon.jnvdocker(words.toArray()).run().ok().out().strip();
    }

    /** Has the host reboot with another driver. */
    private static void load(DriverRoot other) {
        daemon.stop();
        daemon.with("JNVDOCKER_HOST_ROOT", other.directory());
        daemon.jnvdocker("gpu", "volume").run().ok();
    }

    @Test
    void usersOwnVolumesStayDockersOwn() {
        daemon.jnvdocker("run", "--rm", "--gpus", "1", "-v", "mine:/data", "plain", "true")
                .run()
                .ok();
        assertEquals(
                "local\n",
                engine.docker("volume", "inspect", "-f", "{{.Driver}}", "mine").run().ok().out());
    }

    @Test
    void mountedVolumeIsNotRemoved() {
        String id =
                daemon.jnvdocker("run", "-d", "--gpus", "0", "plain", "sleep", "60")
                        .run()
                        .ok()
                        .out()
                        .strip();
        // A direct request, as of an engine that has forgotten the container.
        Command.Result result = plugin("VolumeDriver.Remove", "{\"Name\":\"" + volume + "\"}");
        assertTrue(result.out().contains("is mounted (1 times)"), result::toString);
        engine.docker("rm", "-f", id).run().ok();
        engine.docker("volume", "rm", volume).run().ok();
    }

    @Test
    void volumeThatServesAnOlderOnesContainerIsNotRemoved() {
        String id = container("sleep", "60");
        try (DriverRoot newer = DriverRoot.make(DriverRoot.Release.DRIVER_550)) {
            load(newer);
            engine.docker("start", id).run().ok();
            String name = "{\"Name\":\"nvidia_driver_" + newer.version() + "\"}";
            plugin("VolumeDriver.Unmount", "{\"Name\":\"" + volume + "\",\"ID\":\"never\"}");
            Command.Result result = plugin("VolumeDriver.Remove", name);
            assertTrue(result.out().contains("is mounted (1 times)"), result::toString);
            engine.docker("rm", "-f", id).run().ok();
            assertEquals("{\"Err\":\"\"}\n", plugin("VolumeDriver.Remove", name).out());
        }
    }

    @Test
    void whatIsNotTheProtocolIsRefusedAsHttpKnows() {
        String accept = "application/vnd.docker.plugins.v1.2+json";
        assertEquals("406", status("Plugin.Activate", "text/html"));
        assertEquals("404", status("VolumeDriver.Nonsense", accept));
        assertEquals("200", status("Plugin.Activate", accept));
        Command.Result list = plugin("VolumeDriver.List", "not json");
        assertTrue(list.ok().out().contains("\"Volumes\""), list::toString);
        Command.Result get = plugin("VolumeDriver.Get", "[1");
        assertTrue(get.ok().out().contains("\"Err\":\"VolumeDriver.Get: "), get::toString);
    }

    private Command.Result plugin(String verb, String json) {
        return Command.of(
                        "curl",
                        "-s",
                        "--unix-socket",
                        daemon.pluginSocket(),
                        "-H",
                        "Accept: application/vnd.docker.plugins.v1.2+json",
                        "-d",
                        json,
                        "http://plugin/" + verb)
                .run();
    }

    private String status(String verb, String accept) {
        return Command.of(
                        "curl",
                        "-s",
                        "-o",
                        "/dev/null",
                        "-w",
                        "%{http_code}",
                        "--unix-socket",
                        daemon.pluginSocket(),
                        "-H",
                        "Accept: " + accept,
                        "-X",
                        "POST",
                        "http://plugin/" + verb)
                .run()
                .ok()
                .out();
    }
}
