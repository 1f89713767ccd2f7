package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

import jnvdocker.host.Gpu;
import jnvdocker.oci.spec.RuntimeSpec;
import jnvdocker.oci.spec.SpecEdits;
import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.Directories;
import jnvdocker.tests.world.Frames;
import jnvdocker.tests.world.HostileDaemon;
import jnvdocker.tests.world.HostileDaemon.Script;
import jnvdocker.tests.world.Project;
import jnvdocker.tests.world.RuntimeProgram;
import jnvdocker.tests.world.TestEngine;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/** Our runtime in front of runc and crun, and as a runtime of a real engine. */
@Tag("root")
class RealRuntimeTest {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final String EDITED = "EDITED=yes";

    private final Path directory = Directories.make("oci");

    @AfterEach
    void removeAll() {
        Directories.remove(directory);
    }

    /** Edits every container and process that it gets a request for. */
    private static Frames edit(List<String> arguments) {
        boolean create = arguments.get(1).equals("create");
        String text = arguments.get(create ? 6 : 4);
        try {
            ObjectNode json = (ObjectNode) JSON.readTree(text);
            ObjectNode process = create ? (ObjectNode) json.get("process") : json;
            ((ArrayNode) process.get("env")).add(EDITED);
            return new Frames().out(json.toString()).exit(0);
        } catch (JsonProcessingException e) {
            return new Frames().refuse("no JSON");
        }
    }

    /** crun does not know this machine's cgroups, which are of both kinds. */
    @ParameterizedTest
    @ValueSource(strings = {"runc", "crun"})
    void containerIsCreatedStartedEnteredAndDeleted(String name) throws IOException {
        Path real = Path.of(Command.of("which", name).run().ok().out().strip());
        RuntimeProgram runtime = install(real);
        Path bundle = bundle();
        Path root = bundle.resolve("rootfs");
        Path config = bundle.resolve("config.json");
        ObjectNode spec = (ObjectNode) JSON.readTree(config.toFile());
        ObjectNode process = (ObjectNode) spec.get("process");
        process.put("terminal", false);
        process.putArray("args").add("sh").add("-c").add("env > /out; sleep 1000");
        ((ArrayNode) process.get("env")).add("NVIDIA_VISIBLE_DEVICES=all");
        ((ObjectNode) spec.get("root")).put("readonly", false);
        String id = "jnv-" + name + "-" + Project.RUN;
        ((ObjectNode) spec.get("linux")).put("cgroupsPath", "/" + id);
        Files.writeString(config, spec.toString());
        Path out = root.resolve("out");
        try (HostileDaemon _ =
                new HostileDaemon(runtime.socket(), Script.answering(RealRuntimeTest::edit))) {
            Path log = directory.resolve("output");
            assertEquals(
                    0,
                    call(runtime.path(), name, "create", "--bundle", bundle, id)
                            .after("sh", "-c", "exec \"$@\" > \"$0\" 2>&1", log)
                            .run()
                            .exitCode(),
                    () -> text(log));
            call(runtime.path(), name, "start", id).run().ok();
            for (int i = 0; i < 100 && !text(out).contains(EDITED); i++) {
                Command.of("sleep", "0.05").run();
            }
            assertTrue(text(out).contains(EDITED + "\n"), text(out));
            ObjectNode command = process.deepCopy();
            command.putArray("args").add("env");
            Path file = Files.writeString(directory.resolve("process"), command.toString());
            Command exec = call(runtime.path(), name, "exec", "--process", file, id);
            assertTrue(!exec.run().ok().out().contains(EDITED));
            Files.createFile(runtime.markers().resolve(id));
            assertTrue(exec.run().ok().out().contains(EDITED + "\n"));
        } finally {
            call(runtime.path(), name, "delete", "--force", id).run().ok();
        }
        assertTrue(Files.notExists(directory.resolve("state").resolve(id)));
    }

    /**
     * The directory is another one of {@code /proc}, which each machine has. The program of the
     * container and its mounts are what a runtime makes of them.
     */
    @ParameterizedTest
    @CsvSource({"runc, false", "crun, false", "runc, true"})
    void containerSeesItsOwnGpusAlone(String name, boolean mapped) throws Exception {
        Path bundle = bundle();
        RuntimeSpec spec = RuntimeSpec.parse(Files.readString(bundle.resolve("config.json")));
        SpecEdits.showAlone(
                spec,
                Project.tree().resolve("lib/oci/nvidia-container-runtime"),
                bundle,
                List.of(new Gpu(0, "GPU-1", 0, "driver", "A")));
        ObjectNode edited =
                (ObjectNode)
                        JSON.readTree(
                                spec.toString().replace("proc/driver/nvidia/gpus", "proc/tty"));
        ObjectNode process = (ObjectNode) edited.get("process");
        process.put("terminal", false);
        process.putArray("args")
                .add("sh")
                .add("-c")
                .add("ls /proc/tty; ls /proc/tty/driver; mkdir /proc/tty/x");
        String id = "jnv-own-" + name + "-" + Project.RUN;
        ObjectNode linux = (ObjectNode) edited.get("linux");
        linux.put("cgroupsPath", "/" + id);
        if (mapped) {
            linux.withArray("namespaces").addObject().put("type", "user");
            for (String map : List.of("uidMappings", "gidMappings")) {
                linux.putArray(map)
                        .addObject()
                        .put("containerID", 0)
                        .put("hostID", 100_000)
                        .put("size", 65_536);
            }
        }
        Files.writeString(bundle.resolve("config.json"), edited.toString());
        Command.Result run = call(Path.of(name), name, "run", "--bundle", bundle, id).run();
        List<String> seen = new ArrayList<>(List.of("driver"));
        if (!mapped) {
            // Which another root may not read.
            seen.addAll(directories(Path.of("/proc/tty/driver")));
        }
        assertEquals(seen, run.out().lines().toList(), run::toString);
        assertTrue(run.err().contains("Read-only file system"), run::toString);
    }

    private static List<String> directories(Path directory) throws IOException {
        try (Stream<Path> entries = Files.list(directory)) {
            return entries.map(entry -> entry.getFileName().toString()).sorted().toList();
        }
    }

    /** Makes a bundle of which every user may read the root. */
    private Path bundle() throws IOException {
        Path bundle = Files.createDirectories(directory.resolve("bundle"));
        Path root = Files.createDirectories(bundle.resolve("rootfs"));
        String tar = Command.of(Project.world("rootfs"), "--small").run().ok().out().strip();
        Command.of("tar", "-x", "-f", tar, "-C", root).run().ok();
        Command.of("runc", "spec").in(bundle).run().ok();
        Command.of("chmod", "a+rx", directory, bundle, root).run().ok();
        return bundle;
    }

    /**
     * Shows crun only cgroup v2, since it starts nothing on a machine with cgroups of both
     * versions.
     */
    private Command call(Path runtime, String name, Object... words) {
        boolean crun = name.equals("crun");
        String script =
                (crun ? "mount -t cgroup2 cgroup2 /sys/fs/cgroup && " : "") + "exec \"$0\" \"$@\"";
        String option = crun ? "--cgroup-manager=disabled" : "--systemd-cgroup=false";
        return Command.of(words)
                .after(runtime, option, "--root", directory.resolve("state"))
                .after("unshare", "-m", "sh", "-c", script);
    }

    @Test
    @Tag("docker")
    void engineStartsOrdinaryContainersAndReadsRefusals() throws IOException {
        Path real = Path.of(Command.of("which", "runc").run().ok().out().strip());
        RuntimeProgram runtime = install(real);
        try (TestEngine engine = new TestEngine()) {
            Files.writeString(
                    engine.plugins().resolveSibling("etc/daemon.json"),
                    "{\"runtimes\":{\"nvidia\":{\"path\":\"" + runtime.path() + "\"}}}");
            engine.restart();
            engine.image("plain", "--small");
            engine.image("gpu", "--small", "--env", "NVIDIA_VISIBLE_DEVICES=all");
            run(engine, "plain", "true").ok();
            assertEquals("hello\n", exec(engine, "plain", "echo", "hello"));
            assertRefused(
                    run(engine, "gpu", "true"),
                    "no jnvdockerd answers at "
                            + runtime.socket()
                            + " (No such file or folder); start it, 'systemctl status jnvdocker'"
                            + " says why it does not run");
            String why = "GPU 0 is held by \"x\"; say permission denied\nor wait";
            try (HostileDaemon _ =
                    new HostileDaemon(
                            runtime.socket(), Script.answering(_ -> new Frames().refuse(why)))) {
                assertRefused(run(engine, "gpu", "true"), why.replace("denied", "refused"));
                run(engine, "plain", "true").ok();
            }
            Files.delete(runtime.socket());
            try (HostileDaemon _ =
                    new HostileDaemon(runtime.socket(), Script.answering(this::editDocker))) {
                String out = run(engine, "gpu", "env").ok().out();
                assertTrue(out.contains(EDITED + "\n"), out);
                assertTrue(exec(engine, "gpu", "env").contains(EDITED + "\n"));
            }
            assertTrue(exec(engine, "plain", "env").contains("HOME="));
            assertEquals("", engine.docker("ps", "-aq").run().ok().out());
        }
    }

    /**
     * Answers like a daemon that is given docker's files, and marks the containers that it has
     * edited.
     */
    private Frames editDocker(List<String> arguments) {
        try {
            if (arguments.get(1).equals("create")) {
                String id = arguments.get(2);
                assertEquals(id, JSON.readTree(arguments.get(7)).get("ID").asText());
                assertEquals("nvidia", JSON.readTree(arguments.get(8)).get("Runtime").asText());
                Files.createFile(directory.resolve("markers").resolve(id));
            }
            return edit(arguments);
        } catch (AssertionError | IOException e) {
            return new Frames().refuse(e.toString());
        }
    }

    private static Command.Result run(TestEngine engine, String image, String... command) {
        return engine.docker(
                        Stream.concat(
                                        Stream.of("run", "--rm", "--runtime", "nvidia", image),
                                        Stream.of(command))
                                .toArray())
                .run();
    }

    private static String exec(TestEngine engine, String image, String... command) {
        String id =
                engine.docker("run", "-d", "--rm", "--runtime", "nvidia", image, "sleep", "1000")
                        .run()
                        .ok()
                        .out()
                        .strip();
        try {
            return engine.docker(Stream.concat(Stream.of("exec", id), Stream.of(command)).toArray())
                    .run()
                    .ok()
                    .out();
        } finally {
            engine.docker("rm", "-f", id).run().ok();
        }
    }

    private static void assertRefused(Command.Result result, String why) {
        assertEquals(125, result.exitCode(), result::toString);
        assertTrue(result.err().contains(why), result::toString);
    }

    private RuntimeProgram install(Path real) {
        Path built = Project.source("native").resolve("target/nvidia-container-runtime");
        return new RuntimeProgram(directory, built, real);
    }

    private static String text(Path file) {
        try {
            return Files.exists(file) ? Files.readString(file) : "";
        } catch (IOException e) {
            return e.toString();
        }
    }
}
