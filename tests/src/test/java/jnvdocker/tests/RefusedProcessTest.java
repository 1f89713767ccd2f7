package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

import jnvdocker.oci.refuse.RefusedProcess;
import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.Directories;
import jnvdocker.tests.world.Frames;
import jnvdocker.tests.world.HostileDaemon;
import jnvdocker.tests.world.HostileDaemon.Script;
import jnvdocker.tests.world.Lab;
import jnvdocker.tests.world.Project;
import jnvdocker.tests.world.RuntimeCall;
import jnvdocker.tests.world.RuntimeProgram;
import jnvdocker.tests.world.TestEngine;
import jnvdocker.words.RefusedException;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.stream.Stream;

/**
 * Containers of all kinds whose start is refused, in real runtimes: they print the reason and end
 * with 125, and none of their programs, mounts or hooks takes effect.
 */
@Tag("root")
class RefusedProcessTest {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final String TEXT = "GPU 0 is held by \"träin\"; wait\nor use another one";

    private final Path directory = Directories.make("refused");
    private final Path program = directory.resolve("own/jnvdocker-refused");
    private final Path image = directory.resolve("image");

    /** A container's properties that users set; the rest is as {@code runc spec} writes it. */
    private enum Kind {
        PLAIN(_ -> {}),
        TERMINAL(spec -> process(spec).put("terminal", true)),
        UID_1000(spec -> process(spec).putObject("user").put("uid", 1000).put("gid", 1000)),
        WRITABLE(spec -> ((ObjectNode) spec.get("root")).put("readonly", false)),
        NO_DIRECTORY_TO_WORK_IN(spec -> process(spec).put("cwd", "/not/there")),
        LITTLE_MEMORY(spec ->
                ((ObjectNode) spec.at("/linux/resources"))
                        .putObject("memory")
                        .put("limit", 6 << 20)),
        HOOKS(spec -> {
            for (String name : List.of("prestart", "createContainer", "poststop")) {
                spec.withObjectProperty("hooks")
                        .putArray(name)
                        .addObject()
                        .put("path", "/bin/false");
            }
        }),
        INIT(spec -> {
            process(spec).putArray("args").add("/sbin/docker-init").add("--").add("sh");
            mount(spec, "/sbin/docker-init", "/bin/true");
        }),
        DEV_OF_THE_HOST(spec -> {
            removeMount(spec, "/dev");
            mount(spec, "/dev", "/dev");
        }),
        NO_DEV(spec -> removeMount(spec, "/dev")),
        NO_MOUNT_AT_ALL(spec -> spec.remove("mounts")),
        GONE_VOLUME(spec -> mount(spec, "/data", "/not/there")),
        USER_NAMESPACE(Kind::mapUsers),
        USER_NAMESPACE_UID_1000(spec -> {
            mapUsers(spec);
            process(spec).putObject("user").put("uid", 1000).put("gid", 1000);
        }),
        SECCOMP(spec -> {
            ObjectNode seccomp =
                    ((ObjectNode) spec.get("linux"))
                            .putObject("seccomp")
                            .put("defaultAction", "SCMP_ACT_ALLOW");
            ObjectNode rule =
                    seccomp.putArray("syscalls").addObject().put("action", "SCMP_ACT_ERRNO");
            ArrayNode names = rule.putArray("names");
            List.of("getrandom", "prlimit64", "rseq", "readlinkat").forEach(names::add);
        });

        private final Consumer<ObjectNode> change;

        Kind(Consumer<ObjectNode> change) {
            this.change = change;
        }

        private static ObjectNode process(ObjectNode spec) {
            return (ObjectNode) spec.get("process");
        }

        private static void mount(ObjectNode spec, String place, String source) {
            ((ArrayNode) spec.get("mounts"))
                    .addObject()
                    .put("destination", place)
                    .put("type", "bind")
                    .put("source", source)
                    .putArray("options")
                    .add("rbind");
        }

        private static void removeMount(ObjectNode spec, String place) {
            ArrayNode mounts = (ArrayNode) spec.get("mounts");
            for (int i = mounts.size() - 1; i >= 0; i--) {
                if (mounts.get(i).get("destination").asText().startsWith(place)) {
                    mounts.remove(i);
                }
            }
        }

        private static void mapUsers(ObjectNode spec) {
            ObjectNode linux = (ObjectNode) spec.get("linux");
            ((ArrayNode) linux.get("namespaces")).addObject().put("type", "user");
            for (String map : List.of("uidMappings", "gidMappings")) {
                linux.putArray(map)
                        .addObject()
                        .put("containerID", 0)
                        .put("hostID", 100_000)
                        .put("size", 65_536);
            }
        }
    }

    /**
     * Lays out the program as in the tree, and an image whose /dev is a link to a directory of the
     * image.
     */
    @BeforeEach
    void layOut() throws IOException {
        // With mapped users, the container's root is not ours.
        Files.setPosixFilePermissions(directory, PosixFilePermissions.fromString("rwxr-xr-x"));
        Files.createDirectories(program.resolveSibling("dev"));
        Files.createDirectories(program.resolveSibling("proc"));
        Path built = Project.source("native").resolve("target/jnvdocker-refused");
        Files.copy(built, program, StandardCopyOption.COPY_ATTRIBUTES);
        Files.createDirectories(image.resolve("elsewhere"));
        Files.createDirectories(image.resolve("proc"));
        Files.createSymbolicLink(image.resolve("dev"), Path.of("/elsewhere"));
    }

    @AfterEach
    void removeAll() {
        Directories.remove(directory);
    }

    @ParameterizedTest
    @EnumSource
    void runcRunsOurProgram(Kind kind) throws Exception {
        assertRefuses("runc", spec(kind), kind == Kind.TERMINAL);
    }

    @ParameterizedTest
    @EnumSource(
            value = Kind.class,
            // This case needs cgroups, which this crun does not support here.
            names = {"LITTLE_MEMORY"},
            mode = EnumSource.Mode.EXCLUDE)
    void crunRunsOurProgram(Kind kind) throws Exception {
        assertRefuses("crun", spec(kind), kind == Kind.TERMINAL);
    }

    static List<String> creations() throws IOException {
        return RuntimeCall.scenarios();
    }

    /** Containers whose images and volumes are all gone. */
    @ParameterizedTest
    @MethodSource("creations")
    void recordedContainers(String scenario) throws Exception {
        for (RuntimeCall call : RuntimeCall.of(scenario, directory)) {
            String config = call.texts().get("config.json");
            if (config != null) {
                ObjectNode spec = (ObjectNode) JSON.readTree(config);
                for (JsonNode namespace : spec.at("/linux/namespaces")) {
                    ((ObjectNode) namespace).remove("path");
                }
                // The recording has only a placeholder for it.
                spec.withObjectProperty("linux").remove("seccomp");
                assertRefuses("runc", spec, spec.at("/process/terminal").asBoolean());
            }
        }
    }

    /** The GPU is free at the third start. */
    @ParameterizedTest
    @EnumSource
    @Tag("docker")
    void policyTriesAgainAndTheLogsSayWhy(TestEngine.Release release) throws IOException {
        Path runc = Path.of(Command.of("which", "runc").run().ok().out().strip());
        Path built = Project.source("native").resolve("target/nvidia-container-runtime");
        RuntimeProgram runtime = new RuntimeProgram(directory, built, runc);
        AtomicInteger starts = new AtomicInteger();
        try (TestEngine engine = new TestEngine(release)) {
            Files.writeString(
                    engine.plugins().resolveSibling("etc/daemon.json"),
                    "{\"runtimes\":{\"nvidia\":{\"path\":\"" + runtime.path() + "\"}}}");
            engine.restart();
            engine.image("gpu", "--small", "--env", "NVIDIA_VISIBLE_DEVICES=all");
            try (HostileDaemon _ =
                    new HostileDaemon(
                            runtime.socket(),
                            Script.answering(call -> answer(call, starts.incrementAndGet())))) {
                List<Object> words = List.of("run", "-d", "--name", "con", "--restart", "always");
                List<Object> more = List.of("--runtime", "nvidia", "gpu", "sh", "-c");
                String real = "echo real; touch /file; sleep 1000";
                engine.docker(
                                Stream.of(words, more, List.of((Object) real))
                                        .flatMap(List::stream)
                                        .toArray())
                        .run()
                        .ok();
                Lab.await(() -> {
                    Command.Result logs = engine.docker("logs", "con").run();
                    return logs.out().contains("real") ? List.of() : List.of(logs.toString());
                });
                Command.Result logs = engine.docker("logs", "con").run().ok();
                assertEquals("real\n", logs.out());
                assertEquals((TEXT + "\n").repeat(2), logs.err());
                assertEquals("A /file\n", engine.docker("diff", "con").run().ok().out());
            } finally {
                engine.docker("rm", "-f", "con").run();
            }
        }
    }

    private Frames answer(List<String> call, int start) {
        String config = call.get(6);
        try {
            return new Frames()
                    .out(start > 2 ? config : RefusedProcess.of(config, program, TEXT))
                    .exit(0);
        } catch (RefusedException e) {
            return new Frames().refuse(e.getMessage());
        }
    }

    @Test
    void programNeedsNobodyToListen() {
        for (String after : List.of("2>&-", "<&- >&- 2>&-", "2>/dev/full", "3>&2 2>&1 | true")) {
            String script = "set -o pipefail; \"$0\" one two " + after;
            assertEquals(
                    125, Command.of("bash", "-c", script, program).run().exitCode(), () -> after);
        }
        Command.Result result = Command.of(program, "one", "", "two\nlines").run();
        assertEquals("one\n\ntwo\nlines\n", result.err());
        assertEquals("", result.out());
        assertEquals(125, Command.of(program).run().exitCode());
    }

    private ObjectNode spec(Kind kind) throws IOException {
        Path made = Files.createDirectories(directory.resolve("spec"));
        Command.of("runc", "spec").in(made).run().ok();
        ObjectNode spec = (ObjectNode) JSON.readTree(made.resolve("config.json").toFile());
        Kind.process(spec).put("terminal", false);
        ((ObjectNode) spec.get("root")).put("path", image.toString());
        kind.change.accept(spec);
        return spec;
    }

    private void assertRefuses(String runtime, ObjectNode spec, boolean terminal)
            throws IOException, RefusedException {
        String id = "jnv-refused-" + Project.RUN;
        spec.withObjectProperty("linux").put("cgroupsPath", "/" + id);
        Path bundle = Files.createDirectories(directory.resolve("bundle"));
        Files.writeString(bundle.resolve("config.json"), refused(spec));
        String before = files();
        Command.Result result = call(runtime, bundle, id, terminal).run();
        assertEquals(125, result.exitCode(), result::toString);
        // At the end of its own input, script types a character, which is echoed amid the output.
        String said = terminal ? result.out().replace("\r", "").replace("^@", "") : result.err();
        assertTrue(said.contains(TEXT + "\n"), result::toString);
        assertEquals(before, files());
    }

    private String refused(ObjectNode spec) throws RefusedException {
        return RefusedProcess.of(spec.toString(), program, TEXT);
    }

    /**
     * Shows crun only cgroup v2, since it starts nothing on a machine with cgroups of both
     * versions.
     */
    private Command call(String runtime, Path bundle, String id, boolean terminal) {
        boolean crun = runtime.equals("crun");
        String cgroups = crun ? "mount -t cgroup2 cgroup2 /sys/fs/cgroup && " : "";
        String option = crun ? "--cgroup-manager=disabled" : "--systemd-cgroup=false";
        String words =
                "%s exec %s %s --root %s run --bundle %s %s"
                        .formatted(
                                cgroups, runtime, option, directory.resolve("state"), bundle, id);
        return terminal
                ? Command.of("unshare", "-m", "script", "-qec", words, "/dev/null")
                : Command.of("unshare", "-m", "sh", "-c", words);
    }

    /** All files of the image and of our root. */
    private String files() {
        return Command.of("find", image, program.getParent(), "-printf", "%p %l %s %m %T@\n")
                .run()
                .ok()
                .out();
    }
}
