package jnvdocker.dra;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.host.DeviceNodes;
import jnvdocker.host.Gpu;
import jnvdocker.host.GpuInventory;
import jnvdocker.host.Host;
import jnvdocker.kubernetes.PodClaims;
import jnvdocker.nvml.CudaVersions;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.stream.IntStream;

/** Values in resource slices, which the API server takes only in certain forms. */
class SliceDevicesTest {
    @TempDir Path directory;

    @ParameterizedTest
    @CsvSource({
        "0, 0",
        "1000, 1000",
        "2048, 2Ki",
        "42949672960, 40Gi",
        "85520809984, 81559Mi",
        "1099511627776, 1Ti",
    })
    void bytesAreWrittenAsTheServerItselfWritesThem(long bytes, String quantity) {
        assertEquals(quantity, SliceDevices.quantity(bytes));
    }

    @ParameterizedTest
    @CsvSource({
        "535.104.05, 535.104.5",
        "470.42.01, 470.42.1",
        "12.2, 12.2.0",
        "550, 550.0.0",
        "1.2.3.4, ''",
        "535.x, ''",
    })
    void versionsHaveThreeNumbersWithoutLeadingZeros(String version, String semantic) {
        assertEquals(semantic, SliceDevices.semantic(version).orElse(""));
    }

    /** An API server refuses a slice of more devices with taints. */
    @Test
    void gpusThatHaveNoRoomAreReported() throws IOException {
        Host host = Host.at(directory);
        SliceDevices devices =
                new SliceDevices(
                        new DraDriver.Knowledge(
                                host,
                                new GpuInventory(host, new DeviceNodes(host)),
                                new CudaVersions(Optional::empty),
                                _ -> Optional.empty()));
        List<PodClaims.Offer> offers =
                IntStream.range(0, 70).mapToObj(SliceDevicesTest::offer).toList();
        SliceDevices.Listed all = devices.of(offers, true);
        assertEquals(64, all.devices().size());
        assertEquals("gpu-63", all.devices().get(63).path("name").asText());
        assertEquals(
                "64 of this node's GPUs and MIG instances are in its resource slice, which has no"
                        + " room for 6 more",
                all.lack().orElseThrow().what());
        SliceDevices.Listed free = devices.of(offers, false);
        assertEquals(35, free.devices().size());
        assertEquals(Optional.empty(), free.lack());
    }

    /** Every second one is held. */
    private static PodClaims.Offer offer(int index) {
        Gpu gpu = new Gpu(index, "GPU-" + index, index, "0000:0" + index + ":00.0", "A100");
        return new PodClaims.Offer(
                "gpu-" + index,
                gpu,
                OptionalInt.empty(),
                index % 2 == 0 ? Optional.empty() : Optional.of("held"));
    }

    @Test
    void timeThatTheServerHasAddedIsNoDifference() throws IOException {
        String written =
                "[{\"name\": \"gpu-1\", \"taints\": [{\"key\": \"k\", \"value\": \"held\"}]}]";
        String stored = written.replace("\"held\"", "\"held\", \"timeAdded\": \"now\"");
        assertTrue(SliceDevices.areSame(ApiServer.tree(written), ApiServer.tree(stored)));
        assertFalse(
                SliceDevices.areSame(
                        ApiServer.tree(written), ApiServer.tree(stored.replace("held", "sick"))));
    }
}
