package jnvdocker.oci.install;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.words.RefusedException;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

class DaemonJsonTest {
    private static final Path FILE = Path.of("/etc/docker/daemon.json");
    private static final Path PROGRAM = Path.of("/opt/rt/nvidia-container-runtime");
    private static final Registration OURS =
            new Registration(
                    EngineKind.DOCKER, FILE, "nvidia", PROGRAM.getParent(), Optional.empty());

    private final DaemonJson json = new DaemonJson();

    private static EngineSettings.Entry entry(boolean standard, String... resources) {
        return new EngineSettings.Entry(
                FILE,
                "nvidia",
                PROGRAM,
                standard,
                List.of(resources),
                Optional.empty(),
                new EngineSettings.Part(FILE, ""),
                List.of());
    }

    private static String text(String... lines) {
        return String.join("\n", lines).replace('\'', '"') + "\n";
    }

    @Test
    void nothingMakesAFileWithTheRuntimeAlone() throws Exception {
        String made =
                text(
                        "{",
                        "  'runtimes': {",
                        "    'nvidia': {",
                        "      'path': '/opt/rt/nvidia-container-runtime'",
                        "    }",
                        "  }",
                        "}");
        assertEquals(made, json.with("", entry(false)));
        assertEquals(made, json.with(" {}\n", entry(false)));
        assertEquals(made, json.with(made, entry(false)));
        assertEquals("{ }\n", json.without(made, OURS).orElseThrow());
    }

    @Test
    void allElseStaysInItsOrderWithItsNumbersAndIndent() throws Exception {
        String before =
                text(
                        "{",
                        "\t'debug': false,",
                        "\t'a-number': 12345678901234567890,",
                        "\t'another': 1.50,",
                        "\t'node-generic-resources': [",
                        "\t\t'FPGA=1',",
                        "\t\t'NVIDIA-GPU=GPU-old'",
                        "\t],",
                        "\t'log-opts': {",
                        "\t\t'max-size': 'ü/10m'",
                        "\t}",
                        "}");
        String after = json.with(before, entry(true, "NVIDIA-GPU=GPU-1", "NVIDIA-GPU=GPU-2"));
        assertEquals(
                text(
                        "{",
                        "\t'debug': false,",
                        "\t'a-number': 12345678901234567890,",
                        "\t'another': 1.50,",
                        "\t'node-generic-resources': [",
                        "\t\t'FPGA=1',",
                        "\t\t'NVIDIA-GPU=GPU-1',",
                        "\t\t'NVIDIA-GPU=GPU-2'",
                        "\t],",
                        "\t'log-opts': {",
                        "\t\t'max-size': 'ü/10m'",
                        "\t},",
                        "\t'runtimes': {",
                        "\t\t'nvidia': {",
                        "\t\t\t'path': '/opt/rt/nvidia-container-runtime'",
                        "\t\t}",
                        "\t},",
                        "\t'default-runtime': 'nvidia'",
                        "}"),
                after);
        assertEquals(
                before.replace(",\n\t\t\"NVIDIA-GPU=GPU-old\"", ""),
                json.without(after, OURS).orElseThrow());
    }

    @Test
    void defaultIsTakenBack() throws Exception {
        String named = json.with("", entry(false));
        String standard = json.with("", entry(true));
        assertEquals(named, json.with(standard, entry(false)));
        String others = text("{'default-runtime': 'crun'}");
        assertTrue(json.with(others, entry(false)).contains("\"default-runtime\": \"crun\""));
    }

    @ParameterizedTest
    @CsvSource({
        "{},",
        "{'default-runtime':'runc'},",
        "{'default-runtime':'nvidia'},",
        "{'default-runtime':'kata'},kata",
        "{'default-runtime':'crun'},crun"
    })
    void defaultThatAnAdministratorHasChosen(String text, String other) throws Exception {
        assertEquals(
                Optional.ofNullable(other),
                DaemonJson.otherStandard(text.replace('\'', '"'), FILE, "nvidia"));
    }

    /** Containers keep the earlier name; another one that is runc's is an administrator's. */
    @Test
    void anotherNameOfOursIsNoChoiceOfAnAdministrator() throws Exception {
        String mine = "'mine':{'path':'/usr/bin/runc'}";
        String standard = json.with(text("{'runtimes':{" + mine + "}}"), entry(true));
        EngineSettings.Entry other =
                new EngineSettings.Entry(
                        FILE,
                        "jnv",
                        PROGRAM,
                        true,
                        List.of(),
                        Optional.empty(),
                        new EngineSettings.Part(FILE, ""),
                        List.of());
        String both = json.with(standard, other);
        assertTrue(json.find(both, FILE, "jnv").orElseThrow().standard(), both);
        assertEquals(PROGRAM, json.find(both, FILE, "nvidia").orElseThrow().program());
        Registration named =
                new Registration(
                        EngineKind.DOCKER, FILE, "jnv", PROGRAM.getParent(), Optional.empty());
        assertEquals(
                text("{'runtimes':{" + mine + "}}").replaceAll("\\s", ""),
                json.without(both, named).orElseThrow().replaceAll("\\s", ""));
    }

    /** An uninstallation leaves the name as that of the real runtime. */
    @ParameterizedTest
    @CsvSource({"/usr/bin/runc", "/usr/local/sbin/crun"})
    void nameThatWasLeftIsTakenAgain(String real) throws Exception {
        String left = text("{'runtimes':{'nvidia':{'path':'" + real + "'}}}");
        assertEquals(json.with("", entry(false)), json.with(left, entry(false)));
        assertEquals("{ }\n", json.without(left, OURS).orElseThrow());
    }

    @Test
    void settingsAreFound() throws Exception {
        String text = "{'runtimes':{'nvidia':{'path':'/x'}},'default-runtime':'nvidia'}";
        assertEquals(
                Optional.of(new EngineSettings.Found(Path.of("/x"), true)),
                json.find(text.replace('\'', '"'), FILE, "nvidia"));
        assertEquals(
                Optional.of(Path.of("/x")), json.standardProgram(text.replace('\'', '"'), FILE));
        assertEquals(Optional.empty(), json.find("", FILE, "nvidia"));
        assertEquals(Optional.empty(), json.find("{\"runtimes\": []}", FILE, "nvidia"));
        assertEquals(Optional.empty(), json.standardProgram("{}", FILE));
    }

    @Test
    void foreignRuntimeStays() throws Exception {
        String theirs =
                text(
                        "{",
                        "  'runtimes': {",
                        "    'nvidia': {",
                        "      'path': '/usr/bin/nvidia-container-runtime'",
                        "    }",
                        "  },",
                        "  'default-runtime': 'nvidia'",
                        "}");
        assertEquals(theirs, json.without(theirs, OURS).orElseThrow());
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "{'runtimes':{'nvidia':{'path':'/usr/bin/nvidia-container-runtime'}}}"
                        + "| is '/usr/bin/nvidia-container-runtime', which is not jnvdocker's",
                "{'runtimes':{'nvidia':{'path':'/opt/rt/nvidia-container-runtime',"
                        + "'runtimeArgs':['-x']}}}| with runtimeArgs, which is not",
                "{'runtimes':{'nvidia':{'runtimeType':'io.containerd.x'}}}| which is not",
                "{'default-runtime':'crun'}| has the default-runtime 'crun' already; remove",
                "{'runtimes':[]}| /etc/docker/daemon.json has a \"runtimes\" that is not an object;"
                        + " fix",
                "{'node-generic-resources':{}}| that is not a list",
                "{'a':1,'a':2}| daemon.json:1 is not JSON: Duplicate field 'a'; fix it",
                "{'a':1} x| is not JSON",
                "[]| is not a JSON object; fix it",
            })
    void settingsThatCannotBeWrittenAreRefusedWithTheReason(String text, String reason) {
        RefusedException e =
                assertThrows(
                        RefusedException.class,
                        () -> json.with(text.replace('\'', '"'), entry(true, "NVIDIA-GPU=x")));
        assertTrue(e.getMessage().contains(reason), e.getMessage());
    }
}
