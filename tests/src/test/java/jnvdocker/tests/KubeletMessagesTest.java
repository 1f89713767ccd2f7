package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.google.protobuf.ByteString;
import com.google.protobuf.CodedOutputStream;

import jnvdocker.kubernetes.Device;
import jnvdocker.kubernetes.kubelet.AllocateAnswer;
import jnvdocker.kubernetes.kubelet.DeviceIds;
import jnvdocker.kubernetes.kubelet.ListedDevices;
import jnvdocker.kubernetes.kubelet.PluginOptions;
import jnvdocker.kubernetes.kubelet.PodResources;
import jnvdocker.kubernetes.kubelet.PreferredRequest;
import jnvdocker.kubernetes.kubelet.RegisterRequest;
import jnvdocker.tests.world.KubeletMessages;
import jnvdocker.tests.world.Project;

import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;

/** The messages between a kubelet and a plugin, as a real kubelet has written and read them. */
class KubeletMessagesTest {
    private static final ObjectMapper JSON = new ObjectMapper();

    /** A kind of message: from bytes, from the recording's JSON, and to bytes. */
    private interface Kind {
        Object parse(ByteString bytes) throws IOException;

        Object of(JsonNode json);

        ByteString bytes(Object message);

        static <T> Kind of(Read<T> read, Reported<T> reported, Written<T> written) {
            return new Kind() {
                @Override
                public Object parse(ByteString bytes) throws IOException {
                    return read.parse(bytes);
                }

                @Override
                public Object of(JsonNode json) {
                    return reported.of(json);
                }

                @Override
                @SuppressWarnings("unchecked") // what parse has returned
                public ByteString bytes(Object message) {
                    return written.bytes((T) message);
                }
            };
        }
    }

    private interface Read<T> {
        T parse(ByteString bytes) throws IOException;
    }

    private interface Reported<T> {
        T of(JsonNode json);
    }

    private interface Written<T> {
        ByteString bytes(T message);
    }

    private static final Kind OPTIONS =
            Kind.of(KubeletMessages::options, KubeletMessagesTest::options, PluginOptions::bytes);

    private static final Kind LIST =
            Kind.of(ListedDevices::parse, KubeletMessagesTest::devices, ListedDevices::bytes);

    private static final Kind ALLOCATE =
            Kind.of(
                    DeviceIds::parse,
                    json -> ids(json, "container_requests", "devices_ids"),
                    DeviceIds::bytes);

    private static final Map<String, Kind> KINDS =
            Map.of(
                    "GetDevicePluginOptions response",
                    OPTIONS,
                    "ListAndWatchResponse",
                    LIST,
                    "Register request",
                    Kind.of(
                            KubeletMessages::registration,
                            KubeletMessagesTest::registration,
                            RegisterRequest::bytes),
                    "GetPreferredAllocation request",
                    Kind.of(
                            PreferredRequest::parse,
                            KubeletMessagesTest::preferred,
                            KubeletMessages::bytes),
                    "GetPreferredAllocation response",
                    Kind.of(
                            DeviceIds::parse,
                            json -> ids(json, "container_responses", "deviceIDs"),
                            DeviceIds::bytes),
                    "Allocate request",
                    ALLOCATE,
                    "Allocate response",
                    Kind.of(
                            KubeletMessages::allocated,
                            KubeletMessagesTest::answer,
                            AllocateAnswer::bytes),
                    "PreStartContainer request",
                    Kind.of(
                            DeviceIds::parseOne,
                            json -> texts(json.path("devices_ids")),
                            ids -> KubeletMessages.start(ids)));

    private static PluginOptions options(JsonNode json) {
        return new PluginOptions(
                json.path("pre_start_required").asBoolean(),
                json.path("get_preferred_allocation_available").asBoolean());
    }

    private static RegisterRequest registration(JsonNode json) {
        return new RegisterRequest(
                json.path("version").asText(),
                json.path("endpoint").asText(),
                json.path("resource_name").asText(),
                options(json.path("options")));
    }

    private static ListedDevices devices(JsonNode json) {
        return new ListedDevices(
                each(json.path("devices"))
                        .map(it ->
                                new Device(
                                        it.path("ID").asText(),
                                        it.path("health").asText().equals("Healthy"),
                                        OptionalInt.empty()))
                        .toList());
    }

    private static PreferredRequest preferred(JsonNode json) {
        return new PreferredRequest(
                each(json.path("container_requests"))
                        .map(it ->
                                new PreferredRequest.Choice(
                                        texts(it.path("available_deviceIDs")),
                                        texts(it.path("must_include_deviceIDs")),
                                        it.path("allocation_size").asInt()))
                        .toList());
    }

    private static DeviceIds ids(JsonNode json, String containers, String ids) {
        return new DeviceIds(each(json.path(containers)).map(it -> texts(it.path(ids))).toList());
    }

    /** The variables are a map, which the recording's JSON has sorted. */
    private static AllocateAnswer answer(JsonNode json) {
        return new AllocateAnswer(
                each(json.path("container_responses"))
                        .map(KubeletMessagesTest::container)
                        .toList());
    }

    private static AllocateAnswer.Container container(JsonNode json) {
        List<AllocateAnswer.Variable> variables = new ArrayList<>();
        json.path("envs")
                .properties()
                .forEach(it ->
                        variables.add(
                                new AllocateAnswer.Variable(it.getKey(), it.getValue().asText())));
        return new AllocateAnswer.Container(
                variables,
                each(json.path("mounts"))
                        .map(it ->
                                new AllocateAnswer.Mount(
                                        it.path("container_path").asText(),
                                        it.path("host_path").asText(),
                                        it.path("read_only").asBoolean()))
                        .toList(),
                each(json.path("devices"))
                        .map(it ->
                                new AllocateAnswer.Node(
                                        it.path("container_path").asText(),
                                        it.path("host_path").asText(),
                                        it.path("permissions").asText()))
                        .toList(),
                each(json.path("cdi_devices")).map(it -> it.path("name").asText()).toList());
    }

    private static Stream<JsonNode> each(JsonNode list) {
        return StreamSupport.stream(list.spliterator(), false);
    }

    private static List<String> texts(JsonNode list) {
        return each(list).map(JsonNode::asText).toList();
    }

    private static ByteString hex(String text) {
        return ByteString.copyFrom(HexFormat.of().parseHex(text));
    }

    private static Object sorted(Object message) {
        return message instanceof AllocateAnswer answer
                ? answer.containers().stream()
                        .map(it ->
                                List.of(
                                        it.variables().stream()
                                                .map(Record::toString)
                                                .sorted()
                                                .toList(),
                                        it.mounts(),
                                        it.nodes(),
                                        it.cdi()))
                        .toList()
                : message;
    }

    private static void check(String name, String hex, JsonNode json) throws IOException {
        Kind kind = KINDS.get(name);
        Object message = kind.parse(hex(hex));
        assertEquals(sorted(kind.of(json)), sorted(message), name);
        assertEquals(hex, HexFormat.of().formatHex(kind.bytes(message).toByteArray()), name);
    }

    @TestFactory
    Stream<DynamicTest> oneOfEachIsReadAndWritten() throws IOException {
        JsonNode all = JSON.readTree(Project.fixture("k8s/messages.json").toFile());
        return all.properties().stream()
                .map(it ->
                        DynamicTest.dynamicTest(
                                it.getKey(),
                                () ->
                                        check(
                                                it.getKey(),
                                                it.getValue().path("hex").asText(),
                                                it.getValue().path("json"))));
    }

    @Test
    void allOfTheRecordedCallsAreReadAndWritten() throws IOException {
        int count = 0;
        try (Stream<Path> files = Files.walk(Project.fixture("k8s"))) {
            for (Path file : files.filter(it -> it.toString().endsWith("plugin.jsonl")).toList()) {
                for (String line : Files.readAllLines(file)) {
                    count += checkCall(JSON.readTree(line));
                }
            }
        }
        assertEquals(50, count);
    }

    private static int checkCall(JsonNode entry) throws IOException {
        int count = 0;
        String call = entry.path("call").asText();
        for (String part : List.of("request", "response")) {
            if (entry.has(part + "_hex")) {
                check(call + " " + part, entry.path(part + "_hex").asText(), entry.path(part));
                count++;
            }
        }
        if (entry.has("send")) {
            check(entry.path("send").asText(), entry.path("hex").asText(), entry.path("message"));
            count++;
        }
        return count;
    }

    /** What a kubelet keeps of an answer, which is read after it or we have started again. */
    @Test
    void keptAnswerIsReadAndWritten() throws IOException {
        JsonNode entry =
                JSON.readTree(
                                Project.fixture(
                                                "k8s/kubelet-restart-plugin-alive/"
                                                        + "kubelet_internal_checkpoint")
                                        .toFile())
                        .at("/Data/PodDeviceEntries/0");
        byte[] kept = Base64.getDecoder().decode(entry.path("AllocResp").asText());
        AllocateAnswer.Container answer = KubeletMessages.container(ByteString.copyFrom(kept));
        assertEquals(
                List.of(
                        "/dev/nvidia0",
                        "/dev/nvidia1",
                        "/dev/nvidiactl",
                        "/dev/nvidia-uvm",
                        "/dev/nvidia-uvm-tools"),
                answer.nodes().stream().map(AllocateAnswer.Node::hostPath).toList());
        assertEquals(ByteString.copyFrom(kept), KubeletMessages.bytes(answer));
    }

    @Test
    void nodeOfADeviceIsWritten() throws IOException {
        ListedDevices list =
                new ListedDevices(
                        List.of(
                                new Device("GPU-1", true, OptionalInt.of(0)),
                                new Device("GPU-2", false, OptionalInt.of(1))));
        assertEquals(list, ListedDevices.parse(list.bytes()));
        assertEquals(
                "0a140a054750552d3112074865616c7468791a020a00"
                        + "0a180a054750552d321209556e6865616c7468791a040a020801",
                HexFormat.of().formatHex(list.bytes().toByteArray()));
    }

    @Test
    void listOfPodsIsReadAndWritten() throws IOException {
        PodResources list =
                new PodResources(
                        List.of(
                                new PodResources.Pod(
                                        "multi",
                                        "default",
                                        List.of(
                                                new PodResources.Container("plain", List.of()),
                                                new PodResources.Container(
                                                        "a",
                                                        List.of(
                                                                new PodResources.Devices(
                                                                        "nvidia.com/gpu",
                                                                        List.of("GPU-1"))))))));
        assertEquals(list, PodResources.parse(KubeletMessages.bytes(list)));
    }

    @Test
    void malformedMessageIsAnError() {
        for (String hex : List.of("0aff", "0a05474750", "0b", "ffffffffffffffffffffff")) {
            assertThrows(IOException.class, () -> DeviceIds.parse(hex(hex)), hex);
        }
    }

    /** Each of few bytes, and far more in memory. */
    @Test
    void fieldsOfAllMessagesInAMessageAreCounted() throws IOException {
        ByteString flat = repeated(1, 300_000, ByteString.EMPTY);
        assertThrows(IOException.class, () -> DeviceIds.parse(flat));
        ByteString pod = repeated(3, 5000, ByteString.EMPTY);
        assertEquals(10, PodResources.parse(repeated(1, 10, pod)).pods().size());
        ByteString deep = repeated(1, 60, pod);
        assertThrows(IOException.class, () -> PodResources.parse(deep));
    }

    private static ByteString repeated(int field, int times, ByteString message)
            throws IOException {
        ByteString.Output bytes = ByteString.newOutput();
        CodedOutputStream out = CodedOutputStream.newInstance(bytes);
        for (int i = 0; i < times; i++) {
            out.writeBytes(field, message);
        }
        out.flush();
        return bytes.toByteString();
    }
}
