package jnvdocker.command.gpu.view;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;

import jnvdocker.command.gpu.JsonSchemas;
import jnvdocker.lease.GpuStatus;
import jnvdocker.lease.Tenure;
import jnvdocker.screen.Json;
import jnvdocker.use.Observer;

import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

class LeaseJsonTest {
    private static final List<String> GPU_KEYS =
            List.of(
                    "index",
                    "instance",
                    "uuid",
                    "parent",
                    "model",
                    "node",
                    "pci_address",
                    "state",
                    "idle_since",
                    "state_since",
                    "lease",
                    "since",
                    "due",
                    "overdue",
                    "claim",
                    "user",
                    "uid",
                    "container_id",
                    "container_name",
                    "image",
                    "command",
                    "pod",
                    "pid",
                    "share_bytes",
                    "shares",
                    "figures",
                    "idle",
                    "note");

    @Test
    void heldGpuSaysAllOfItsHolder() throws IOException {
        JsonNode gpu =
                gpu(Samples.taken(0, GpuStatus.State.HELD, Samples.held(7, "train-7", 0), ""));
        assertEquals(GPU_KEYS, keys(gpu));
        assertEquals("GPU-5c1a0000-1d2c-4e5f-8a9b-012345678900", gpu.path("uuid").asText());
        assertEquals("/dev/nvidia0", gpu.path("node").asText());
        assertEquals("held", gpu.path("state").asText());
        assertEquals("2026-03-05T09:00:00Z", gpu.path("since").asText());
        assertEquals(7, gpu.path("lease").asInt());
        assertEquals(1000, gpu.path("uid").asLong());
        assertEquals(Samples.CONTAINER_ID, gpu.path("container_id").asText());
        assertEquals(4711, gpu.path("pid").asInt());
        assertTrue(gpu.path("note").isNull());
    }

    @Test
    void freeGpuHasTheSameKeysWithNothingInThem() throws IOException {
        JsonNode gpu = gpu(Samples.free(0, Optional.of(Samples.AT_NINE)));
        assertEquals(GPU_KEYS, keys(gpu));
        assertEquals("2026-03-05T09:00:00Z", gpu.path("idle_since").asText());
        for (String key :
                List.of("lease", "since", "due", "claim", "user", "uid", "pid", "image")) {
            assertTrue(gpu.path(key).isNull(), key);
        }
    }

    @Test
    void usedGpuHasTheSameKeysAndNoLease() throws IOException {
        JsonNode gpu = gpu(Samples.used(0, true));
        assertEquals(GPU_KEYS, keys(gpu));
        assertEquals("unmanaged", gpu.path("state").asText());
        assertEquals(Samples.CONTAINER_ID, gpu.path("container_id").asText());
        assertEquals("plain-1", gpu.path("container_name").asText());
        assertEquals("cuda", gpu.path("image").asText());
        assertEquals(4712, gpu.path("pid").asInt());
        for (String key : List.of("lease", "since", "claim", "user", "uid", "idle_since")) {
            assertTrue(gpu.path(key).isNull(), key);
        }
        JsonNode process = gpu(Samples.used(0, false));
        assertEquals(GPU_KEYS, keys(process));
        assertEquals("root", process.path("user").asText());
        assertEquals(0, process.path("uid").asInt(-1));
        assertEquals(4711, process.path("pid").asInt());
        assertTrue(process.path("container_id").isNull());
    }

    @Test
    void pastLeaseSaysWhenAndWhyItEnded() throws IOException {
        String text =
                Json.line(
                        List.of(
                                LeaseJson.past(
                                        Samples.ended(
                                                7, "train-7", Samples.NOW, "it is gone", 0, 2))));
        JsonSchemas.check("gpu-leases", text);
        JsonNode lease = new ObjectMapper().readTree(text).path(0);
        assertEquals("ended", lease.path("state").asText());
        assertEquals("2026-03-05T12:00:00Z", lease.path("until").asText());
        assertEquals("it is gone", lease.path("evidence").asText());
        assertEquals("/dev/nvidia2", lease.path("gpus").path(1).path("node").asText());
    }

    @Test
    void observerHasTheSameKeysWithNoLease() throws Exception {
        Observer observer =
                new Observer("c1", "dcgm", Optional.of("exporter"), "root", Samples.AT_NINE);
        ListedLeases live =
                new ListedLeases(
                        List.of(
                                LeaseRow.live(
                                        Samples.held(7, "train-7", 0),
                                        GpuStatus.State.HELD,
                                        new Tenure(Samples.AT_NINE, 0))),
                        _ -> {});
        String text = Json.line(new LeaseJson.All(live, List.of(observer)));
        JsonSchemas.check("gpu-leases", text);
        JsonNode all = new ObjectMapper().readTree(text);
        assertEquals(keys(all.path(0)), keys(all.path(1)));
        assertEquals(List.of("held", "observing"), all.findValuesAsText("state"));
        assertEquals("dcgm", all.path(1).path("container_name").asText());
        assertTrue(all.path(1).path("lease").isNull());
    }

    @Test
    void nameIsWrittenInAscii() throws Exception {
        String name = "\u001b[2J\u009b1m\u202e…";
        Tenure tenure = new Tenure(Samples.AT_NINE.minusSeconds(3600), 2);
        String text =
                Json.text(
                        LeaseJson.of(
                                LeaseRow.live(
                                        Samples.held(7, name, 0), GpuStatus.State.HELD, tenure)));
        assertTrue(text.chars().allMatch(it -> it == '\n' || it >= ' ' && it < 127), text);
        JsonNode lease = new ObjectMapper().readTree(text);
        assertEquals("\\u{1b}[2J\\u{9b}1m\\u{202e}…", lease.path("container_name").asText());
        assertEquals("2026-03-05T09:00:00Z", lease.path("since").asText());
        assertEquals("2026-03-05T08:00:00Z", lease.path("container_since").asText());
        assertEquals(2, lease.path("restarts").asInt());
    }

    private static JsonNode gpu(GpuStatus status) throws IOException {
        String text = Json.text(List.of(GpuJson.of(status, GpuNotes.NONE)));
        JsonSchemas.check("gpu-ls", text);
        return new ObjectMapper().readTree(text).path(0);
    }

    private static List<String> keys(JsonNode node) {
        List<String> keys = new ArrayList<>();
        node.fieldNames().forEachRemaining(keys::add);
        return keys;
    }
}
