package jnvdocker.kubernetes.dra;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;

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

    private SliceDevices devices() throws IOException {
        Host host = Host.at(directory);
        return new SliceDevices(
                new DraDriver.Knowledge(
                        host,
                        new GpuInventory(host, new DeviceNodes(host)),
                        new CudaVersions(Optional::empty),
                        _ -> Optional.empty()));
    }

    /** An API server refuses a slice of more devices with taints. */
    @Test
    void gpusThatHaveNoRoomAreReported() throws IOException {
        SliceDevices devices = devices();
        List<PodClaims.Offer> offers =
                IntStream.range(0, 70).mapToObj(index -> offer(index, Optional.empty())).toList();
        SliceDevices.Listed all = devices.of(offers, SliceDevices.Kept.ALL);
        assertEquals(64, all.devices().size());
        assertEquals("gpu-63", all.devices().get(63).path("name").asText());
        assertEquals(
                "64 of this node's GPUs and MIG instances are in its resource slice, which has no"
                        + " room for 6 more",
                all.lack().orElseThrow().what());
        SliceDevices.Listed free = devices.of(offers, new SliceDevices.Kept(false, true));
        assertEquals(35, free.devices().size());
        assertEquals(Optional.empty(), free.lack());
    }

    /** Others hold it whole, or have shares of it: where a cluster keeps no shares, it is held. */
    @ParameterizedTest
    @CsvSource({
        "true,  true,  40448Mi, ''",
        "true,  false, 0,       held",
        "false, true,  0,       ''",
        "false, false, 0,       held",
    })
    void shareOfAGpuThatOthersShareCanBeHad(
            boolean shared, boolean kept, String memory, String taint) throws IOException {
        PodClaims.Offer offer =
                offer(
                        shared || !kept ? 1 : 0,
                        shared
                                ? Optional.of(
                                        new PodClaims.Shares(
                                                64L << 30, 40448L << 20, Optional.empty()))
                                : Optional.empty());
        JsonNode device =
                devices().of(List.of(offer), new SliceDevices.Kept(true, kept)).devices().get(0);
        assertEquals(memory, device.at("/capacity/memory/value").asText());
        assertEquals(
                memory.equals("0") ? "" : "64Gi",
                device.at("/capacity/memory/requestPolicy/default").asText());
        assertEquals(
                memory.equals("0") ? "" : "256Mi",
                device.at("/capacity/memory/requestPolicy/validRange/min").asText());
        assertEquals(!memory.equals("0"), device.path("allowMultipleAllocations").asBoolean());
        assertEquals(taint, device.at("/taints/0/value").asText());
    }

    /** A server refuses the whole slice when a range begins above the capacity. */
    @ParameterizedTest
    @CsvSource({"256Mi, 268435456, 256Mi", "0, 268435455, ''", "0, 0, ''"})
    void restThatIsNoShareIsNone(String memory, long left, String least) throws IOException {
        PodClaims.Shares shares = new PodClaims.Shares(64L << 30, left, Optional.empty());
        JsonNode capacity =
                devices()
                        .of(List.of(offer(1, Optional.of(shares))), SliceDevices.Kept.ALL)
                        .devices()
                        .get(0)
                        .at("/capacity/memory");
        assertEquals(memory, capacity.path("value").asText());
        assertEquals("64Gi", capacity.at("/requestPolicy/default").asText());
        assertEquals(least, capacity.at("/requestPolicy/validRange/min").asText());
    }

    /**
     * A selector that reads what a device lacks fails, and its pod is scheduled nowhere: NVML may
     * not have answered yet, or not report a MIG instance.
     */
    @Test
    void deviceOfWhichNothingIsKnownHasWhatSelectorsRead() throws IOException {
        JsonNode device =
                devices()
                        .of(List.of(offer(0, Optional.empty())), SliceDevices.Kept.ALL)
                        .devices()
                        .get(0);
        assertEquals("0", device.at("/capacity/memory/value").asText());
        assertEquals("unknown", device.at("/attributes/architecture/string").asText());
        assertEquals(-1, device.at("/attributes/numaNode/int").asInt());
        for (String version : List.of("driver", "cudaDriver")) {
            String path = "/attributes/" + version + "Version/version";
            assertEquals("0.0.0", device.at(path).asText());
        }
        assertEquals("0.0.0", device.at("/attributes/cudaComputeCapability/version").asText());
    }

    /** Every second one is held. */
    private static PodClaims.Offer offer(int index, Optional<PodClaims.Shares> shares) {
        Gpu gpu = new Gpu(index, "GPU-" + index, index, "0000:0" + index + ":00.0", "A100");
        return new PodClaims.Offer(
                "gpu-" + index,
                gpu,
                OptionalInt.empty(),
                index % 2 == 0 ? Optional.empty() : Optional.of("held"),
                shares);
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
