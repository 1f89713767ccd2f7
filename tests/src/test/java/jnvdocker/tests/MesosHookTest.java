package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.MesosContainer;
import jnvdocker.tests.world.MesosTask;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/** Tasks of a Mesos agent get the GPUs that they request, and no others. */
class MesosHookTest extends OneAgentTest {
    private static final String NODES = "for n in /dev/nvidia*; do echo $n $(tryopen $n); done; ";

    /** Tries nodes that the task makes itself: 0 to 3 are the host's GPUs. */
    private static final String RIGHTS =
            "for n in 0 1 2 3 255; do mknod $MESOS_SANDBOX/n$n c 195 $n; echo $n $(TRYOPEN"
                    + " $MESOS_SANDBOX/n$n); done; ";

    private static final String DRIVER = "ls /usr/local; ls /usr/local/nvidia; ";
    private static final String PATHS = "echo $PATH; echo $LD_LIBRARY_PATH; ";
    private static final List<String> CONTROL_NODES =
            List.of("/dev/nvidia-uvm ENXIO", "/dev/nvidia-uvm-tools ENXIO", "/dev/nvidiactl ENXIO");
    private static final String OUR_LIBRARIES = "/usr/local/nvidia/lib:/usr/local/nvidia/lib64";

    private static MesosTask task(String script) {
        return MesosTask.of(script.replace("TRYOPEN", "tryopen"));
    }

    /** The number of the only GPU with a node. */
    private static String gpu(List<String> nodes) {
        List<String> gpus =
                nodes.stream().filter(it -> it.matches("/dev/nvidia[0-3] ENXIO")).toList();
        assertEquals(1, gpus.size(), nodes::toString);
        return gpus.getFirst().substring("/dev/nvidia".length(), "/dev/nvidia0".length());
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "label com.nvidia.volumes.needed=nvidia_driver",
                "env NVIDIA_VISIBLE_DEVICES=all",
                "env NVIDIA_VISIBLE_DEVICES=none",
                "none"
            })
    void taskHasItsGpuAndTheDriver(String image) {
        MesosTask task = task(NODES + RIGHTS + DRIVER + PATHS).gpus(1);
        String need = image.substring(image.indexOf(' ') + 1);
        switch (image.substring(0, 3)) {
            case "lab" -> task.needsDriver();
            case "env" -> task.imageVariable(need);
            default -> {}
        }
        List<String> lines = lines(task);
        List<String> nodes = lines.subList(0, 4);
        String gpu = gpu(nodes);
        assertEquals(
                Stream.concat(CONTROL_NODES.stream(), Stream.of("/dev/nvidia" + gpu + " ENXIO"))
                        .sorted()
                        .toList(),
                nodes.stream().sorted().toList());
        for (int i = 0; i < 4; i++) {
            assertEquals(i + (gpu.equals("" + i) ? " ENXIO" : " EPERM"), lines.get(4 + i));
        }
        assertEquals("255 ENXIO", lines.get(8));
        assertEquals(
                List.of(
                        "bin",
                        "nvidia",
                        "bin",
                        "lib",
                        "lib64",
                        "manifest.json",
                        "share",
                        "/usr/local/bin:/usr/bin:/bin:/usr/local/nvidia/bin",
                        OUR_LIBRARIES),
                lines.subList(9, lines.size()));
    }

    /** As with Mesos' own support; this is for images that bring their own driver. */
    @ParameterizedTest
    @ValueSource(strings = {"void", ""})
    void imageThatDeclinesGpusHasNodesAndNoDriver(String visible) {
        List<String> lines =
                lines(
                        task(NODES + "ls /usr/local; " + PATHS)
                                .gpus(1)
                                .needsDriver()
                                .imageVariable("NVIDIA_VISIBLE_DEVICES=" + visible));
        assertTrue(lines.containsAll(CONTROL_NODES), lines::toString);
        gpu(lines.subList(0, 4));
        assertEquals(List.of("bin", "/usr/local/bin:/usr/bin:/bin", ""), lines.subList(4, 7));
    }

    @Test
    void taskHasAsManyGpusAsItAsksFor() {
        List<String> lines = lines(task(NODES + RIGHTS).gpus(2).needsDriver());
        assertEquals(2, lines.stream().filter(it -> it.matches("/dev/nvidia[0-3] ENXIO")).count());
        assertEquals(2, lines.stream().filter(it -> it.matches("[0-3] ENXIO")).count());
        assertEquals(2, lines.stream().filter(it -> it.matches("[0-3] EPERM")).count());
    }

    @Test
    void imageThatNeedsTheDriverHasItWithoutAnyGpu() {
        MesosTask task = task(NODES + "tryopen /usr/local/nvidia; echo up; sleep 1000");
        MesosContainer container = lasting(task.gpus(0).needsDriver());
        List<String> lines = container.out().lines().toList();
        assertEquals(CONTROL_NODES, lines.subList(0, 3).stream().sorted().toList());
        assertEquals("EISDIR", lines.get(3));
        assertEquals("ffff", states());
        assertEquals(List.of(), gpuRules(container));
        assertEquals(0, leases().size());
    }

    @Test
    void taskThatNeedsNothingNeedsNoDaemon() {
        daemon.stop();
        Command.Result result = agent.run(task("ls /dev; ls /usr/local; " + PATHS));
        assertFalse(result.ok().out().contains("nvidia"), result::toString);
        assertEquals("", result.err());
        assertTrue(daemon.pid().isEmpty());
    }

    @ParameterizedTest
    @CsvSource({
        // PATH and LD_LIBRARY_PATH of the image, of the task, and as expected
        "/opt/bin:/bin, , , , /opt/bin:/bin:/usr/local/nvidia/bin, OURS",
        "/usr/local/nvidia/bin:/bin, /usr/local/nvidia/lib64, , ,"
                + " /usr/local/nvidia/bin:/bin, /usr/local/nvidia/lib64",
        "/bin, /opt/lib, , , /bin:/usr/local/nvidia/bin, /opt/lib:OURS",
        "/bin, /opt/lib, , /own, /bin:/usr/local/nvidia/bin, /own:OURS",
        "/bin, , /own/bin:/bin, , /own/bin:/bin:/usr/local/nvidia/bin, OURS",
        ", , , , /usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:"
                + "/usr/local/nvidia/bin, OURS",
    })
    void searchPathsEndWithTheDrivers(
            String path, String libraries, String own, String ownLibraries, String p, String l) {
        for (boolean command : new boolean[] {true, false}) {
            MesosTask task = task(PATHS).gpus(1).needsDriver().noImageVariables();
            if (path != null) {
                task.imageVariable("PATH=" + path);
            }
            if (libraries != null) {
                task.imageVariable("LD_LIBRARY_PATH=" + libraries);
            }
            if (own != null) {
                task.variable("PATH", own);
            }
            if (ownLibraries != null) {
                task.variable("LD_LIBRARY_PATH", ownLibraries);
            }
            assertEquals(
                    List.of(p, l.replace("OURS", OUR_LIBRARIES)),
                    lines(command ? task : task.direct()));
        }
    }

    @Test
    void whatTheUserMountsInTheDriversPlaceStays() throws IOException {
        Path mine = Files.createDirectories(agent.directory().resolve("mine"));
        Files.writeString(mine.resolve("file"), "");
        assertEquals(
                List.of("file", "1"),
                lines(
                        task("ls /usr/local/nvidia; grep -c ' /usr/local/nvidia '"
                                        + " /proc/self/mountinfo")
                                .gpus(1)
                                .needsDriver()
                                .mount(mine, "/usr/local/nvidia")));
    }

    @Test
    void taskWithoutImageHasRightsAndNothingElse() {
        Path tryopen = agent.image().resolve("usr/local/bin/tryopen");
        String script = RIGHTS.replace("TRYOPEN", tryopen.toString()) + "echo $LD_LIBRARY_PATH; ";
        List<String> lines =
                lines(
                        MesosTask.of(
                                        script
                                                + "grep -c ' /usr/local/nvidia '"
                                                + " /proc/self/mountinfo; true")
                                .noImage()
                                .gpus(1));
        assertEquals(1, lines.stream().filter(it -> it.matches("[0-3] ENXIO")).count());
        assertEquals(3, lines.stream().filter(it -> it.matches("[0-3] EPERM")).count());
        assertEquals(List.of("255 ENXIO", "", "0"), lines.subList(4, lines.size()));
    }

    @Test
    void directoryAmongTheHostsNodesIsNoNode() throws IOException {
        Path directory = host.directory().resolve("dev/nvidia-caps-imex-channels");
        Files.createDirectory(directory);
        try {
            List<String> lines = lines(task(NODES).gpus(1).needsDriver());
            assertEquals(4, lines.size(), lines::toString);
        } finally {
            Files.delete(directory);
        }
    }
}
