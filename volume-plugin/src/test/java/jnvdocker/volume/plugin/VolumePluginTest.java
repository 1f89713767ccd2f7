package jnvdocker.volume.plugin;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;

import jnvdocker.posix.ProcessId;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** The requests and answers of docker's documentation of the protocol. */
class VolumePluginTest {
    private static final ProcessId ENGINE = new ProcessId(4711, 1);

    private static final String WITH_A_NAME =
            "VolumeDriver.Create,VolumeDriver.Remove,VolumeDriver.Mount,VolumeDriver.Unmount,"
                    + "VolumeDriver.Path,VolumeDriver.Get";

    private final ObjectMapper json = new ObjectMapper();
    private final TestingVolumes volumes = new TestingVolumes();
    private final VolumePlugin plugin = new VolumePlugin(List.of(volumes));

    @Test
    void activatedItIsAVolumeDriver() throws IOException {
        assertAnswer("{'Implements': ['VolumeDriver']}", "Plugin.Activate", "");
    }

    @Test
    void volumesAreThisHostsOwn() throws IOException {
        assertAnswer("{'Capabilities': {'Scope': 'local'}}", "VolumeDriver.Capabilities", "");
    }

    @Test
    void createKeepsItsOptions() throws IOException {
        create("test_1.2", "{'opt': 'value'}");
        assertAnswer(
                "{'Volume': {'Name': 'test_1.2', 'Mountpoint': '/volumes/test_1.2',"
                        + " 'Status': {'opts': {'opt': 'value'}}}, 'Err': ''}",
                "VolumeDriver.Get",
                "{'Name': 'test_1.2'}");
    }

    @ParameterizedTest
    @ValueSource(strings = {"", ", 'Opts': null", ", 'Opts': {}", ", 'Later': [1, {'x': {}}]"})
    void createNeedsNoOptionsAndIgnoresUnknownKeys(String more) throws IOException {
        assertAnswer("{'Err': ''}", "VolumeDriver.Create", "{'Name': 'test_1.2'" + more + "}");
    }

    @Test
    void stoppedItServesExistingVolumesAndMakesNoMore() throws IOException {
        create("test_1.2", "{}");
        plugin.stop();
        assertAnswer(
                "{'Err': 'jnvdocker is being uninstalled and makes no volume; contact an"
                        + " administrator'}",
                "VolumeDriver.Create",
                "{'Name': 'test_1.3'}");
        assertAnswer(
                "{'Mountpoint': '/volumes/test_1.2', 'Err': ''}",
                "VolumeDriver.Mount",
                "{'Name': 'test_1.2', 'ID': '1'}");
        plugin.resume();
        assertAnswer("{'Err': ''}", "VolumeDriver.Create", "{'Name': 'test_1.3'}");
    }

    @Test
    void mountAndUnmountHaveAnId() throws IOException {
        create("test_1.2", "{}");
        assertAnswer(
                "{'Mountpoint': '/volumes/test_1.2', 'Err': ''}",
                "VolumeDriver.Mount",
                "{'Name': 'test_1.2', 'ID': 'b87d7442095999a92b65b3d9691e697b61713829cc0ffd1bb7'}");
        assertAnswer(
                "{'Err': ''}",
                "VolumeDriver.Unmount",
                "{'Name': 'test_1.2', 'ID': 'b87d7442095999a92b65b3d9691e697b61713829cc0ffd1bb7'}");
        assertEquals(
                List.of(
                        "mount test_1.2 b87d7442095999a92b65b3d9691e697b61713829cc0ffd1bb7",
                        "unmount test_1.2 b87d7442095999a92b65b3d9691e697b61713829cc0ffd1bb7"),
                volumes.uses);
    }

    @Test
    void mountWithoutIdHasAnEmptyOne() throws IOException {
        create("test_1.2", "{}");
        answer("VolumeDriver.Mount", "{'Name': 'test_1.2'}");
        assertEquals(List.of("mount test_1.2 "), volumes.uses);
    }

    @Test
    void pathIsTheMountpoint() throws IOException {
        create("test_1.2", "{}");
        assertAnswer(
                "{'Mountpoint': '/volumes/test_1.2', 'Err': ''}",
                "VolumeDriver.Path",
                "{'Name': 'test_1.2'}");
    }

    @Test
    void listHasTheVolumesOfEveryKind() throws IOException {
        TestingVolumes more = new TestingVolumes();
        more.create("test_3.4", Map.of());
        create("test_1.2", "{}");
        String both =
                "{'Volumes': [{'Name': 'test_1.2', 'Mountpoint': '/volumes/test_1.2', 'Status':"
                        + " {}}, {'Name': 'test_3.4', 'Mountpoint': '/volumes/test_3.4', 'Status':"
                        + " {}}], 'Err': ''}";
        VolumePlugin plugin = new VolumePlugin(List.of(volumes, more));
        Optional<String> list = plugin.answer("VolumeDriver.List", new byte[0], ENGINE);
        assertEquals(tree(both), json.readTree(list.orElseThrow()));
    }

    @Test
    void removedIsGone() throws IOException {
        create("test_1.2", "{}");
        assertAnswer("{'Err': ''}", "VolumeDriver.Remove", "{'Name': 'test_1.2'}");
        assertAnswer("{'Volumes': [], 'Err': ''}", "VolumeDriver.List", "{}");
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "VolumeDriver.", "VolumeDriver.get", "Mount", "NetworkDriver.Join"})
    void otherVerbsHaveNoAnswer(String verb) throws IOException {
        byte[] request = "{\"Name\": \"test_1.2\"}".getBytes(StandardCharsets.UTF_8);
        assertEquals(Optional.empty(), plugin.answer(verb, request, ENGINE));
    }

    @Test
    void refusalOfAKindIsTheError() throws IOException {
        assertAnswer(
                "{'Err': 'no such volume: test_1.2; create it'}",
                "VolumeDriver.Get",
                "{'Name': 'test_1.2'}");
    }

    @ParameterizedTest
    @CsvSource({
        "other_1.2, unsupported volume: other_1.2; use nvidia_driver_<version>",
        "mydata, bad volume format: mydata; use nvidia_driver_<version>",
        "../../etc/passwd, bad volume format: ../../etc/passwd; use nvidia_driver_<version>",
        "'a\u0007b', bad volume format: a\\u{7}b; use nvidia_driver_<version>",
    })
    void namesOfNoKindAreRefusedInTheWordsOfOld(String name, String error) throws IOException {
        String request = json.writeValueAsString(Map.of("Name", name));
        for (String verb : WITH_A_NAME.split(",")) {
            assertEquals(error, error(verb, request));
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"VolumeDriver.Get", "VolumeDriver.Mount", "VolumeDriver.Remove"})
    void mistakeOfOursIsToldWithoutItsTrace(String verb) throws IOException {
        assertEquals(
                "internal error in " + verb + "; jnvdockerd's log has the details",
                error(verb, "{'Name': '" + TestingVolumes.BROKEN + "'}"));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                " ",
                "{",
                "[]",
                "'test_1.2'",
                "{'Name': {'x': 1}}",
                "{'Name': 'test_1.2', 'Opts': []}",
                "{'Name': 'test_1.2', 'Opts': {'a': {}}}",
                "{'Name': 'test_1.2', 'ID': [",
                "\0",
            })
    void requestThatIsNotTheObjectThatDockerSendsIsRefused(String request) throws IOException {
        for (String verb : WITH_A_NAME.split(",")) {
            assertEquals(
                    verb + ": the request is not the JSON object that docker sends; send that",
                    error(verb, request));
        }
    }

    @Test
    void requestThatWasLostOnTheWayIsRefusedWithWhatToDo() throws IOException {
        assertEquals(
                "VolumeDriver.Create: jnvdockerd was restarted before it had answered, and docker"
                        + " has sent another request without a volume's name; try again",
                error("VolumeDriver.Create", ""));
    }

    @ParameterizedTest
    @ValueSource(strings = {"{}", "null", "{'Name': null}", "{'Name': ''}", "{'name': 'test_1.2'}"})
    void requestMustNameAVolume(String request) throws IOException {
        for (String verb : WITH_A_NAME.split(",")) {
            assertEquals(
                    verb + ": the request names no volume; give its Name", error(verb, request));
        }
    }

    @Test
    void requestThatIsNotUtf8IsRefused() throws IOException {
        byte[] request = "{\"Name\": \"test_\u00e4\"}".getBytes(StandardCharsets.ISO_8859_1);
        String text = plugin.answer("VolumeDriver.Get", request, ENGINE).orElseThrow();
        assertTrue(text.contains("is not the JSON object"), text);
    }

    @Test
    void nestingIsBounded() throws IOException {
        String deep = "[".repeat(1000) + "]".repeat(1000);
        String error = error("VolumeDriver.Get", "{'Name': 'test_1.2', 'x': " + deep + "}");
        assertTrue(error.contains("is not the JSON object"), error);
    }

    @Test
    void nameIsBounded() throws IOException {
        String longest = "test_" + "1".repeat(250);
        create(longest, "{}");
        String error = error("VolumeDriver.Create", "{'Name': '" + longest + "1'}");
        assertEquals(
                "VolumeDriver.Create: the volume's name is longer than 255 characters; shorten it",
                error);
    }

    @Test
    void errorNeverEchoesAHugeName() throws IOException {
        String error = error("VolumeDriver.Get", "{'Name': '" + "x".repeat(1 << 20) + "'}");
        assertTrue(error.length() < 200, error);
    }

    @Test
    void textFromOutsideStaysText() throws IOException {
        create("test_1.2", "{'a': '\\\", \\\"Err\\\": \\\"no'}");
        JsonNode answer = answer("VolumeDriver.Get", "{'Name': 'test_1.2'}");
        assertEquals("", answer.path("Err").asText());
        assertEquals(
                "\", \"Err\": \"no",
                answer.path("Volume").path("Status").path("opts").path("a").asText());
        assertFalse(answer.has("Name"));
    }

    @Test
    void failureWithoutAWordIsOneAllTheSame() throws IOException {
        assertEquals(
                "interrupted",
                error("VolumeDriver.Get", "{'Name': '" + TestingVolumes.SILENT + "'}"));
    }

    private void create(String name, String options) throws IOException {
        assertAnswer(
                "{'Err': ''}",
                "VolumeDriver.Create",
                "{'Name': '" + name + "', 'Opts': " + options + "}");
    }

    private String error(String verb, String request) throws IOException {
        JsonNode answer = answer(verb, request);
        assertEquals(1, answer.size(), answer.toString());
        return answer.path("Err").asText();
    }

    private void assertAnswer(String expected, String verb, String request) throws IOException {
        assertEquals(tree(expected), answer(verb, request));
    }

    private JsonNode answer(String verb, String request) throws IOException {
        byte[] body = request.replace('\'', '"').getBytes(StandardCharsets.UTF_8);
        return json.readTree(plugin.answer(verb, body, ENGINE).orElseThrow());
    }

    /** Parses JSON, in which quotes may be single ones. */
    private JsonNode tree(String text) throws IOException {
        return json.readTree(text.replace('\'', '"'));
    }
}
