package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.Directories;
import jnvdocker.tests.world.DriverRoot;
import jnvdocker.tests.world.Project;
import jnvdocker.tests.world.TestDaemon;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** {@code jnvdocker mesos flags}: the flags to start a Mesos agent of this host with. */
@Tag("root")
class MesosFlagsTest {
    private static final String FIRST = "GPU-5c1a0000-1d2c-4e5f-8a9b-012345678900";
    private static final String THIRD = "GPU-5c1a2006-1d2c-4e5f-8a9b-012345678902";

    private DriverRoot host;
    private TestDaemon daemon;
    private Path launcher;

    @BeforeEach
    void makeWorld() {
        host = DriverRoot.make(DriverRoot.Release.DRIVER_535);
        daemon = new TestDaemon(host);
        launcher = Directories.make("launcher");
        daemon.jnvdocker("gpu", "ls").run().ok();
    }

    @AfterEach
    void removeWorld() {
        daemon.close();
        host.close();
        Directories.remove(launcher);
    }

    private Command.Result flags(Object... options) {
        List<Object> words = new ArrayList<>(List.of("mesos", "flags"));
        words.addAll(Arrays.asList(options));
        words.add("--launcher_dir=" + launcher);
        return daemon.jnvdocker(words.toArray()).run();
    }

    private String resources(Object... options) {
        return flags(options).ok().out().lines().findFirst().orElseThrow();
    }

    /** The remarks about GPUs, without those on the missing installation and on Docker. */
    private List<String> remarks(Command.Result result) {
        return result.err()
                .lines()
                .filter(line ->
                        !line.contains(" does not have jnvdocker's mesos-containerizer yet")
                                && !line.startsWith("jnvdocker: leave docker out"))
                .toList();
    }

    @Test
    void theWholeHostIsOffered() {
        Command.Result result = flags("--resources=cpus:8;ports:[31000-32000]");
        assertEquals(
                "--resources='cpus:8;ports:[31000-32000];gpus:4'\n"
                        + "--isolation=filesystem/linux,docker/runtime,cgroups/cpu,cgroups/mem,"
                        + "cgroups/devices\n"
                        + "--launcher_dir="
                        + launcher
                        + "\n",
                result.ok().out());
        assertEquals(
                "jnvdocker: leave docker out of the agent's --containerizers: with it, an agent"
                        + " with these flags exits at startup on a host with NVML\n"
                        + "jnvdocker: "
                        + launcher
                        + " does not have jnvdocker's mesos-containerizer yet; run 'jnvdocker mesos"
                        + " install --launcher-dir "
                        + launcher
                        + " --mesos-libexec /usr/libexec/mesos'\n",
                result.err());
    }

    /**
     * They are optional: a driver upgrade would change them, which would keep the agent from
     * starting.
     */
    @Test
    void attributesArePrintedOnRequest() {
        assertFalse(flags().ok().out().contains("--attributes"));
        String ours =
                "nvidia_driver:v535.261.03;nvidia_cuda:v12.2;nvidia_gpu:NVIDIA_A100-SXM4-40GB";
        assertTrue(flags("--attributes").ok().out().contains("\n--attributes='" + ours + "'\n"));
        assertTrue(
                flags("--attributes=rack:r1")
                        .ok()
                        .out()
                        .contains("\n--attributes='rack:r1;" + ours + "'\n"));
    }

    @Test
    void optionsMayBeSpelledEitherWay() {
        Command.Result result =
                daemon.jnvdocker("mesos", "flags", "--launcher-dir=" + launcher).run();
        assertTrue(result.ok().out().endsWith("--launcher_dir=" + launcher + "\n"));
    }

    @Test
    void theFlagsCanBePastedIntoAShellOrGivenByXargs() {
        String options = "--resources='cpus:8;ports:[31000-32000]'";
        String wanted = "<--resources=cpus:8;ports:[31000-32000];gpus:4>";
        String jnvdocker = Project.tree().resolve("bin/jnvdocker") + " mesos flags " + options;
        for (String script :
                List.of(
                        jnvdocker + " | xargs printf '<%s>\\n'",
                        "eval printf \"'<%s>\\n'\" $(" + jnvdocker + ")")) {
            List<String> words =
                    Command.of("bash", "-c", script)
                            .with(daemon.environment())
                            .run()
                            .ok()
                            .out()
                            .lines()
                            .toList();
            assertEquals(wanted, words.getFirst());
            assertEquals(3, words.size(), words::toString);
        }
    }

    @Test
    void aCordonedGpuIsLeftOutAndOneThatIsHeldIsNot() {
        daemon.jnvdocker("gpu", "cordon", "1", "--reason", "fan is loud").run().ok();
        Command.Result result =
                daemon.jnvdocker(
                                "gpu",
                                "run",
                                "--gpus",
                                "device=0",
                                "--",
                                Project.tree().resolve("bin/jnvdocker"),
                                "mesos",
                                "flags",
                                "--launcher_dir=" + launcher)
                        .run();
        assertTrue(result.ok().out().startsWith("--resources=gpus:3\n"), result::toString);
        assertEquals(2, remarks(result).size(), result::toString);
        assertTrue(
                remarks(result)
                        .getLast()
                        .startsWith(
                                "jnvdocker: an agent that offered more GPUs before does not start"
                                        + " with fewer"),
                result::toString);
        assertTrue(
                remarks(result)
                        .getFirst()
                        .matches(
                                "jnvdocker: GPU 1 \\(GPU-5c1a1003\\) is left out: cordoned by root"
                                        + " since \\d\\d:\\d\\d \\(fan is loud\\)"),
                result::toString);
    }

    @Test
    void theConfigurationSaysWhichGpusAreForMesos() {
        daemon.config("mesos.gpus = ['0', 'GPU-5c1a2']\n");
        daemon.stop();
        assertEquals("--resources=gpus:2", resources());
        assertEquals("--resources='gpu_uuids:{" + FIRST + "," + THIRD + "}'", resources("--uuids"));
    }

    @Test
    void wrongUsageIsNoRefusal() {
        assertEquals(2, flags("--no-such-option").exitCode());
        assertEquals(2, daemon.jnvdocker("mesos", "flags", "--launcher_dir=").run().exitCode());
        assertEquals(2, daemon.jnvdocker("mesos", "run").run().exitCode());
        String help = daemon.jnvdocker("mesos", "flags", "--help").run().ok().out();
        assertTrue(help.startsWith("Usage: jnvdocker mesos flags"), help);
        assertTrue(
                help.replaceAll("\\s+", " ").contains("remove the link meta/slaves/latest"), help);
    }

    @Test
    void aHostWithoutADriverOffersNothing() {
        Directories.remove(host.directory().resolve("proc"));
        Directories.remove(host.directory().resolve("sys"));
        Command.Result result = flags();
        assertEquals(125, result.exitCode());
        assertTrue(
                result.err().startsWith("jnvdocker: no NVIDIA driver is loaded"), result::toString);
    }
}
