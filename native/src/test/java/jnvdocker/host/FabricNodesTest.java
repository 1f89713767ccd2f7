package jnvdocker.host;

import static org.junit.jupiter.api.Assertions.assertEquals;

import jnvdocker.posix.Posix;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.stream.Collectors;

@Tag("root")
class FabricNodesTest {
    @TempDir Path root;

    @BeforeEach
    void makeNodes() throws IOException {
        Path dev = Files.createDirectory(root.resolve("dev"));
        Path channels = Files.createDirectory(dev.resolve("nvidia-caps-imex-channels"));
        Path infiniband = Files.createDirectory(dev.resolve("infiniband"));
        Posix.mknod(dev.resolve("nvidia0"), 0600, 195, 0);
        Posix.mknod(dev.resolve("nvidia-fs0"), 0600, 507, 0);
        Posix.mknod(dev.resolve("gdrdrv"), 0600, 506, 0);
        Posix.mknod(dev.resolve("nvidia-nvswitchctl"), 0600, 508, 255);
        Posix.mknod(dev.resolve("nvidia-nvswitch0"), 0600, 508, 0);
        Files.writeString(dev.resolve("nvidia-nvswitch1"), "no node");
        for (int channel : new int[] {0, 1, 10}) {
            Posix.mknod(channels.resolve("channel" + channel), 0600, 509, channel);
        }
        Posix.mknod(infiniband.resolve("uverbs0"), 0600, 231, 192);
        Posix.mknod(infiniband.resolve("rdma_cm"), 0600, 10, 121);
        Posix.mknod(infiniband.resolve("umad0"), 0600, 231, 0);
    }

    @ParameterizedTest
    @CsvSource({
        "NVIDIA_GDS, enabled, nvidia-fs0 507:0",
        "NVIDIA_GDS, disabled, ''",
        "NVIDIA_GDRCOPY, enabled, gdrdrv 506:0",
        "NVIDIA_NVSWITCH, enabled, nvidia-nvswitch0 508:0|nvidia-nvswitchctl 508:255",
        "NVIDIA_MOFED, enabled, infiniband/rdma_cm 10:121|infiniband/uverbs0 231:192",
        "NVIDIA_IMEX_CHANNELS, all, nvidia-caps-imex-channels/channel0 509:0"
                + "|nvidia-caps-imex-channels/channel1 509:1"
                + "|nvidia-caps-imex-channels/channel10 509:10",
        "NVIDIA_IMEX_CHANNELS, '1, 7', nvidia-caps-imex-channels/channel1 509:1",
        "NVIDIA_IMEX_CHANNELS, '.*', ''",
        "NVIDIA_IMEX_CHANNELS, '(0,\\\\E|1,,channel1', ''",
        "NVIDIA_VISIBLE_DEVICES, all, ''"
    })
    void variableRequestsTheNodesThatThereAre(String name, String value, String nodes)
            throws IOException {
        assertEquals(
                nodes,
                FabricNodes.requested(Host.at(root), Map.of(name, value)).stream()
                        .map(node ->
                                "%s %d:%d"
                                        .formatted(
                                                node.name().substring("/dev/".length()),
                                                node.major(),
                                                node.minor()))
                        .collect(Collectors.joining("|")));
    }
}
