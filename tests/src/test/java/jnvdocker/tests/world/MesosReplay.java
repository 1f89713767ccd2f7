package jnvdocker.tests.world;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/**
 * Replays recorded calls of Mesos' helper through ours: with the recorded arguments, environment
 * and configuration, in cgroups like the recorded ones, beside a process that lives as long as the
 * replay.
 */
public final class MesosReplay implements AutoCloseable {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final String INFO_VARIABLE = "MESOS_CONTAINERIZER_LAUNCH_INFO";
    private static final String INFO_ARGUMENT = "--launch_info=";
    private static final String RUNTIME_VARIABLE = "MESOS_CONTAINERIZER_RUNTIME_DIRECTORY";
    private static final String RUNTIME = "/var/run/mesos";
    private static final String LAUNCHER = "/usr/libexec/jnvdocker";
    private static final String RUN = "/run/jnvdocker";
    private static final String ENTER = "echo $$ > \"$1\"; shift; exec \"$@\"";

    private final Path recording;
    private final TestDaemon daemon;
    private final Path directory = Directories.make("replay");
    private final String root = directory.getFileName().toString();
    private final RecordingHelper helper;
    private final LauncherDirectory launcher;
    private final List<Process> living = new ArrayList<>();
    private boolean driverWasMounted;

    /**
     * A recorded call.
     *
     * @param launchInfo the name of the file that has its launch info
     */
    public record Call(
            List<String> argv, Map<String, String> variables, Optional<String> launchInfo) {

        public List<String> otherArguments() {
            return MesosReplay.otherArguments(argv);
        }

        public Map<String, String> otherVariables() {
            return MesosReplay.otherVariables(variables);
        }
    }

    /** The resulting call of the agent's own helper, with the recorded paths. */
    public record Seen(List<String> argv, Map<String, String> variables) {
        public List<String> otherArguments() {
            return MesosReplay.otherArguments(argv);
        }

        public Map<String, String> otherVariables() {
            return MesosReplay.otherVariables(variables);
        }

        public String launchInfo() {
            return argv.stream()
                    .filter(argument -> argument.startsWith(INFO_ARGUMENT))
                    .map(argument -> argument.substring(INFO_ARGUMENT.length()))
                    .findFirst()
                    .orElseGet(() -> variables.get(INFO_VARIABLE));
        }
    }

    public MesosReplay(Path recording, TestDaemon daemon) throws IOException {
        this.recording = recording;
        this.daemon = daemon;
        Path libexec = Files.createDirectory(directory.resolve("libexec"));
        helper = new RecordingHelper(libexec);
        launcher =
                LauncherDirectory.install(directory.resolve("launcher"), libexec, daemon.socket());
    }

    private static List<String> otherArguments(List<String> argv) {
        return argv.stream()
                .skip(1)
                .map(it -> it.startsWith(INFO_ARGUMENT) ? INFO_ARGUMENT : it)
                .toList();
    }

    private static Map<String, String> otherVariables(Map<String, String> variables) {
        Map<String, String> others = new TreeMap<>(variables);
        others.remove(INFO_VARIABLE);
        return others;
    }

    /** In the order of the recording. */
    public List<Call> calls() throws IOException {
        List<Call> calls = new ArrayList<>();
        for (JsonNode call : JSON.readTree(recording.resolve("calls.json").toFile())) {
            List<String> argv = new ArrayList<>();
            call.get("argv").forEach(word -> argv.add(withFile(word.asText())));
            Map<String, String> variables = new LinkedHashMap<>();
            call.get("environment")
                    .properties()
                    .forEach(it -> variables.put(it.getKey(), withFile(it.getValue().asText())));
            JsonNode info = call.get("launch_info_file");
            calls.add(
                    new Call(
                            argv,
                            variables,
                            Optional.ofNullable(info.isNull() ? null : info.asText())));
        }
        return calls;
    }

    private String withFile(String text) {
        int at = text.indexOf("@file:");
        if (at < 0) {
            return text;
        }
        try {
            return text.substring(0, at)
                    + Files.readString(recording.resolve(text.substring(at + 6)));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Makes the call. */
    public Seen run(Call call) throws IOException {
        List<Object> words = new ArrayList<>();
        String container = call.variables().getOrDefault(RUNTIME_VARIABLE, "");
        if (!container.isEmpty()) {
            String ids = container.substring((RUNTIME + "/containers/").length());
            Path freezer = prepare(ids.replace("/containers/", "/mesos/"), call);
            words.addAll(List.of("bash", "-c", ENTER, "enter", freezer.resolve("cgroup.procs")));
        } else if (driverWasMounted && call.launchInfo().isPresent()) {
            words.addAll(inContainerWithDriver());
        }
        words.addAll(List.of("env", "-i"));
        call.variables().forEach((name, value) -> words.add(name + "=" + here(value)));
        words.add(launcher.containerizer());
        call.argv().stream().skip(1).map(this::here).forEach(words::add);
        Command.Result result = Command.of(words.toArray()).run();
        if (result.exitCode() != RecordingHelper.EXIT_CODE) {
            throw new AssertionError(result.toString());
        }
        RecordingHelper.Call made = helper.call();
        Map<String, String> variables = new LinkedHashMap<>();
        for (String variable : made.environment()) {
            int equals = variable.indexOf('=');
            variables.put(variable.substring(0, equals), recorded(variable.substring(equals + 1)));
        }
        Seen seen = new Seen(made.argv().stream().map(this::recorded).toList(), variables);
        driverWasMounted |=
                call.launchInfo().isPresent() && seen.launchInfo().contains("\"mount\",");
        return seen;
    }

    /** Prepares the state in which the agent launches the container with these ids. */
    private Path prepare(String ids, Call call) throws IOException {
        Path runtime = Path.of(here(call.variables().get(RUNTIME_VARIABLE)));
        Files.createDirectories(runtime);
        Path config =
                recording.resolve(
                        call.launchInfo().orElseThrow().replace("launch_info.json", "config.bin"));
        Files.write(runtime.resolve("config"), Files.readAllBytes(config));
        Path freezer = Path.of("/sys/fs/cgroup/freezer", root, ids);
        Files.createDirectories(freezer);
        if (!ids.contains("/") || recording.endsWith("default-executor-nested-own-cgroup")) {
            Files.createDirectories(Path.of("/sys/fs/cgroup/devices", root, ids));
        }
        Path processes = freezer.resolve("cgroup.procs");
        living.add(
                Command.of("bash", "-c", ENTER, "enter", processes, "sleep", "600")
                        .log(directory.resolve("log"))
                        .start());
        Lab.await(() -> isEmpty(processes) ? List.of("nothing lives in " + ids) : List.of());
        return freezer;
    }

    private static boolean isEmpty(Path processes) {
        try {
            return Files.readString(processes).isEmpty();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private List<Object> inContainerWithDriver() throws IOException {
        Path driver = daemon.socket().resolveSibling("volumes/nvidia_driver");
        Path place = Files.createDirectories(directory.resolve("usr/local/nvidia"));
        String mount = "mount --bind \"$1\"/* \"$2\" && shift 2 && exec \"$@\"";
        return List.of(
                "unshare",
                "-m",
                "--propagation",
                "slave",
                "bash",
                "-c",
                mount,
                "in",
                driver,
                place);
    }

    private String here(String text) {
        return text.equals(RUNTIME) || text.startsWith(RUNTIME + "/containers/")
                ? directory.resolve("run") + text.substring(RUNTIME.length())
                : text;
    }

    private String recorded(String text) {
        return text.replace(directory.resolve("run").toString(), RUNTIME)
                .replace(launcher.directory().toString(), LAUNCHER)
                .replace(daemon.socket().getParent().toString(), RUN)
                .replace("/" + root + "/", "/mesos/");
    }

    /** Ends the remaining processes, and waits until the daemon knows. */
    @Override
    public void close() {
        living.forEach(Process::destroyForcibly);
        Lab.await(
                () -> daemon.jnvdocker("gpu", "leases").run().ok().out().lines().skip(1).toList());
        for (String controller : List.of("freezer", "devices")) {
            Path cgroups = Path.of("/sys/fs/cgroup", controller, root);
            Lab.await(() -> remove(cgroups));
        }
        Directories.remove(directory);
    }

    private static List<String> remove(Path cgroups) {
        Command.of("find", cgroups, "-depth", "-type", "d", "-exec", "rmdir", "{}", "+").run();
        return Files.exists(cgroups) ? List.of(cgroups + " is there") : List.of();
    }
}
