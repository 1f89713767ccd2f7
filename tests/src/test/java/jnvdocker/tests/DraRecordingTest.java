package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.google.protobuf.ByteString;

import jnvdocker.kubernetes.PodClaims;
import jnvdocker.kubernetes.dra.DraDriver;
import jnvdocker.kubernetes.dra.DraMessages;
import jnvdocker.kubernetes.dra.DraMessages.ClaimRef;
import jnvdocker.kubernetes.dra.DraMessages.Done;
import jnvdocker.kubernetes.dra.DraMessages.Failed;
import jnvdocker.kubernetes.dra.DraMessages.Outcome;
import jnvdocker.kubernetes.dra.DraMessages.Prepared;
import jnvdocker.tests.world.Project;
import jnvdocker.wire.WireMessage;

import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;

/** The messages between a kubelet and the driver are those that a real kubelet sent and took. */
class DraRecordingTest {
    private static final ObjectMapper JSON = new ObjectMapper();

    private static List<JsonNode> recorded(String call) throws IOException {
        List<JsonNode> calls = recorded("answered", call);
        assertTrue(calls.size() > 2, calls::toString);
        return calls;
    }

    private static List<JsonNode> recorded(String phase, String call) throws IOException {
        List<JsonNode> calls = new ArrayList<>();
        for (String line : Files.readAllLines(Project.fixture("k8s/dra/driver.jsonl"))) {
            JsonNode entry = JSON.readTree(line);
            boolean wanted =
                    entry.path("phase").asText().equals(phase)
                            && entry.path("call").asText().equals(call);
            if (wanted && !entry.has("err")) {
                calls.add(entry);
            }
        }
        return calls;
    }

    private static ByteString bytes(JsonNode call, String part) {
        return ByteString.copyFrom(HexFormat.of().parseHex(call.path(part).asText()));
    }

    @Test
    void driverNamesItselfAsTheKubeletHasRegisteredIt() throws IOException {
        ByteString info =
                DraMessages.info(DraDriver.NAME, "/var/lib/kubelet/plugins/gpu.jnvdocker/dra.sock");
        for (JsonNode call : recorded("GetInfo")) {
            assertEquals(bytes(call, "response_hex"), info);
        }
        for (JsonNode call : recorded("NotifyRegistrationStatus")) {
            assertEquals("0801", call.path("request_hex").asText());
        }
    }

    @Test
    void requestsAreReadAsTheyWereSent() throws IOException {
        for (String name : List.of("NodePrepareResources", "NodeUnprepareResources")) {
            for (JsonNode call : recorded(name)) {
                ByteString sent = bytes(call, "request_hex");
                List<ClaimRef> claims = DraMessages.claims(sent);
                assertEquals("default", claims.getFirst().namespace());
                assertEquals(36, claims.getFirst().uid().length());
                assertEquals(sent, DraMessages.request(claims));
            }
        }
    }

    @Test
    void answersAreWrittenAsTheKubeletHasTakenThem() throws IOException {
        int refused = 0;
        for (JsonNode call : recorded("NodePrepareResources")) {
            String uid = DraMessages.claims(bytes(call, "request_hex")).getFirst().uid();
            ByteString answer = bytes(call, "response_hex");
            WireMessage its =
                    WireMessage.parse(answer).messages(1).getFirst().message(2).orElseThrow();
            List<Prepared> devices = new ArrayList<>();
            for (WireMessage device : its.messages(1)) {
                devices.add(
                        new Prepared(
                                device.text(1).orElseThrow(),
                                device.text(2).orElseThrow(),
                                device.text(3).orElseThrow(),
                                device.text(4).orElseThrow(),
                                device.text(5)));
            }
            Outcome outcome =
                    devices.isEmpty() ? new Failed(its.text(2).orElseThrow()) : new Done(devices);
            refused += devices.isEmpty() ? 1 : 0;
            assertEquals(answer, DraMessages.prepared(Map.of(uid, outcome)));
        }
        assertEquals(3, refused);
        for (JsonNode call : recorded("NodeUnprepareResources")) {
            String uid = DraMessages.claims(bytes(call, "request_hex")).getFirst().uid();
            Outcome done = new Done(List.of());
            assertEquals(bytes(call, "response_hex"), DraMessages.unprepared(Map.of(uid, done)));
        }
    }

    /** Of a GPU that the driver has lost, by the second message. */
    @Test
    void healthIsWrittenAsTheKubeletHasShownItInThePodsStatus() throws IOException {
        List<String> troubles = new ArrayList<>();
        for (JsonNode message : recorded("streamed", "NodeWatchResources")) {
            List<PodClaims.Health> devices = new ArrayList<>();
            for (WireMessage device :
                    WireMessage.parse(bytes(message, "response_hex")).messages(1)) {
                String name = device.message(1).orElseThrow().text(2).orElseThrow();
                devices.add(new PodClaims.Health(name, device.text(5)));
                troubles.addAll(device.texts(5));
            }
            assertEquals(bytes(message, "response_hex"), DraMessages.health("node1", devices));
        }
        assertEquals(List.of("NVML says 'GPU is lost'"), troubles);
    }
}
