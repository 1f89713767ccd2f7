package jnvdocker.docker.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;

import jnvdocker.container.ContainerEdits;
import jnvdocker.container.VolumeMount;
import jnvdocker.host.DeviceNode;

import org.junit.jupiter.api.Test;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

class DockerArgumentsTest {
    private static final VolumeMount DRIVER =
            new VolumeMount("nvidia_driver_535.104.05", "nvidia-docker", "/usr/local/nvidia");

    @Test
    void nothingToAddIsNoArgument() {
        assertEquals(List.of(), arguments(List.of(), List.of(), Map.of()));
    }

    @Test
    void everythingIsRenderedInItsOrder() {
        Map<String, String> environment = new LinkedHashMap<>();
        environment.put("PATH", "/bin:/usr/local/nvidia/bin");
        environment.put("LD_LIBRARY_PATH", "/usr/local/nvidia/lib:/usr/local/nvidia/lib64");
        environment.put("NVIDIA_VISIBLE_DEVICES", "void");
        assertEquals(
                List.of(
                        "--device=/dev/nvidiactl:/dev/nvidiactl:rw",
                        "--device=/hosts/a/dev/nvidia3:/dev/nvidia3:rw",
                        "--device=/dev/nvidia0:/dev/nvidia0:rw",
                        "--mount=type=volume,src=nvidia_driver_535.104.05,dst=/usr/local/nvidia,"
                                + "volume-driver=nvidia-docker,readonly,volume-nocopy",
                        "--env=PATH=/bin:/usr/local/nvidia/bin",
                        "--env=LD_LIBRARY_PATH=/usr/local/nvidia/lib:/usr/local/nvidia/lib64",
                        "--env=NVIDIA_VISIBLE_DEVICES=void"),
                arguments(
                        List.of(
                                node("/dev/nvidiactl", "/dev/nvidiactl"),
                                node("/dev/nvidia3", "/hosts/a/dev/nvidia3"),
                                node("/dev/nvidia0", "/dev/nvidia0")),
                        List.of(DRIVER),
                        environment));
    }

    @Test
    void valuesOfAnImageStayInTheirArgument() {
        String value = "/bin --privileged\n-v /:/host=\"'";
        assertEquals(
                List.of("--env=PATH=" + value),
                arguments(List.of(), List.of(), Map.of("PATH", value)));
    }

    @Test
    void claimIsAVolumeAndTwoLabels() {
        var claim = new VolumeMount("claim_1", "nvidia-docker", "/run/jnvdocker");
        var labels = Map.of("jnvdocker.gpus", "GPU-a,GPU-b", "jnvdocker.claim", "1");
        assertEquals(
                List.of(
                        "--mount=type=volume,src=claim_1,dst=/run/jnvdocker,"
                                + "volume-driver=nvidia-docker,readonly,volume-nocopy",
                        "--label=jnvdocker.claim=1",
                        "--label=jnvdocker.gpus=GPU-a,GPU-b"),
                DockerArguments.of(
                        new ContainerEdits(List.of(), List.of(claim), Map.of(), labels)));
    }

    @Test
    void laterChangesOfTheirListsChangeNoEdits() {
        Map<String, String> environment = new LinkedHashMap<>(Map.of("A", "1"));
        ContainerEdits edits = new ContainerEdits(List.of(), List.of(), environment, Map.of());
        environment.put("B", "2");
        assertEquals(List.of("--env=A=1"), DockerArguments.of(edits));
    }

    @Test
    void dockerReadsThemAsTheyWereMeant() throws Exception {
        List<String> arguments = arguments(List.of(), List.of(DRIVER), Map.of("PATH", "/bin"));
        List<String> typed = new ArrayList<>(List.of("run"));
        typed.addAll(arguments);
        typed.add("cuda");
        RunCommand run =
                assertInstanceOf(RunCommand.class, DockerCommandLine.parse(typed, verb -> ""));
        assertEquals("cuda", run.image());
        assertEquals(List.of("/usr/local/nvidia"), run.mountTargets());
        assertEquals(List.of("PATH=/bin"), run.env());
    }

    private static DeviceNode node(String name, String hostPath) {
        return new DeviceNode(name, Path.of(hostPath), 195, 0);
    }

    private static List<String> arguments(
            List<DeviceNode> devices, List<VolumeMount> mounts, Map<String, String> environment) {
        return DockerArguments.of(new ContainerEdits(devices, mounts, environment, Map.of()));
    }
}
