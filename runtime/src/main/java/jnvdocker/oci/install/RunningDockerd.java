package jnvdocker.oci.install;

import jnvdocker.process.ShortProcess;
import jnvdocker.process.StartedProgram;
import jnvdocker.words.Quote;
import jnvdocker.words.RefusedException;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Stream;

/**
 * The dockerd that runs: its flags count besides its configuration, and it refuses to start with
 * both of a kind. Any user may call a program dockerd: one that root has started counts first.
 *
 * @param program its file
 */
public record RunningDockerd(StartedProgram process, Path program) {
    private static final Logger LOG = LoggerFactory.getLogger(RunningDockerd.class);
    private static final String STATE = "containerd/daemon";

    /** Where the containerd of the usual dockerd has its tasks. */
    static final Path USUAL_STATE = Path.of("/run/docker", STATE);

    private static final String NAME = "dockerd";
    private static final String CONFIG = "--config-file";
    private static final String STANDARD = "--default-runtime";
    private static final Duration LIMIT = Duration.ofSeconds(10);

    /** The flags that docker takes for the keys that we write. */
    private static final Map<String, String> KEYS =
            new TreeMap<>(
                    Map.of(
                            "--add-runtime",
                            "runtimes",
                            STANDARD,
                            "default-runtime",
                            "--node-generic-resource",
                            "node-generic-resources"));

    /**
     * The one that serves a socket; of several without a socket in their arguments, none. One that
     * root has not started counts only where there is no other.
     */
    public static Optional<RunningDockerd> at(Path socket) {
        List<RunningDockerd> all = all();
        List<RunningDockerd> roots = roots();
        List<RunningDockerd> some = roots.isEmpty() ? all : roots;
        return some.stream()
                .filter(each -> each.arguments().toString().contains("unix://" + socket))
                .findFirst()
                .or(() ->
                        some.size() == 1
                                        && !some.getFirst().arguments().toString().contains("unix:")
                                ? Optional.of(some.getFirst())
                                : Optional.empty());
    }

    /** Those that root has started. */
    static List<RunningDockerd> roots() {
        return all().stream().filter(RunningDockerd::isRoots).toList();
    }

    /** Those of root that read this file. */
    public static List<RunningDockerd> reading(Path file) {
        return roots().stream().filter(each -> each.reads(file)).toList();
    }

    /** Whether it started before a file was last written, which it has not read so far. */
    public boolean isOlder(Path file) throws IOException {
        Instant written = Files.getLastModifiedTime(file).toInstant();
        return since().filter(written::isBefore).isEmpty();
    }

    private static List<RunningDockerd> all() {
        return StartedProgram.named(Set.of(NAME)).stream().flatMap(it -> of(it).stream()).toList();
    }

    private static Optional<RunningDockerd> of(StartedProgram process) {
        return ProcessHandle.of(process.pid())
                .flatMap(it -> it.info().command())
                .map(program -> new RunningDockerd(process, Path.of(program)));
    }

    private boolean isRoots() {
        return process.user().uid() == 0;
    }

    /** Its process, for a signal. */
    public int pid() {
        return process.pid();
    }

    /** Where its containerd has the tasks: its own one, or the one that a flag names. */
    List<Path> containerdStates() {
        Path own =
                process.value("--exec-root").map(root -> Path.of(root, STATE)).orElse(USUAL_STATE);
        return Stream.concat(
                        Stream.of(own),
                        process.value("--containerd").map(Path::of).map(Path::getParent).stream())
                .toList();
    }

    /** The default runtime that a flag names. */
    public Optional<String> standardRuntime() {
        return process.value(STANDARD);
    }

    /** When it started, to a second. */
    Optional<Instant> since() {
        return ProcessHandle.of(pid()).flatMap(it -> it.info().startInstant());
    }

    /** The arguments that it was started with, without its own name. */
    private List<String> arguments() {
        return process.arguments().subList(1, process.arguments().size());
    }

    /** The file that it reads. */
    public Path config() {
        return process.value(CONFIG).map(Path::of).orElse(EngineKind.DOCKER.config());
    }

    /** Whether that is the file that it reads, which it may see under another name. */
    public boolean reads(Path file) {
        Path own = Path.of("/proc/" + pid() + "/root" + config());
        try {
            return Files.isSameFile(own.getParent(), file.toAbsolutePath().getParent())
                    && own.getFileName().equals(file.getFileName());
        } catch (IOException e) {
            return false;
        }
    }

    /**
     * Refuses an engine that cannot use our runtime.
     *
     * @throws RefusedException with the reason
     */
    public void refuseUnfit() throws RefusedException {
        if (program.startsWith("/snap")) {
            throw new RefusedException(
                    "docker is a snap here (" + program + "), which runs no program of the host",
                    "install Docker's or the distribution's packages in its place");
        }
        if (!isRoots()) {
            throw new RefusedException(
                    "this dockerd (pid %s) runs without root, as uid %s"
                            .formatted(pid(), process.user().uid()),
                    "only containers of an engine of root can be kept from others' GPUs; use"
                            + " that, or 'jnvdocker gpu run' for programs");
        }
    }

    /**
     * Refuses a configuration with which it would not start again.
     *
     * @param file where it is to be
     * @throws RefusedException with dockerd's reason
     */
    public void refuseConflict(String text, Path file) throws RefusedException, IOException {
        for (Map.Entry<String, String> key : KEYS.entrySet()) {
            if (text.contains('"' + key.getValue() + '"')
                    && process.value(key.getKey()).isPresent()) {
                throw new RefusedException(
                        "dockerd (pid "
                                + pid()
                                + ") was started with "
                                + key.getKey()
                                + ", and does not start again with \""
                                + key.getValue()
                                + "\" in "
                                + file
                                + " as well",
                        "move that flag into "
                                + file
                                + " ('systemctl cat docker' shows it) and restart docker, then try"
                                + " again");
            }
        }
        Optional<String> fault = fault(text);
        if (fault.isPresent()) {
            throw new RefusedException(
                    "dockerd does not accept " + file + " with our runtime: " + fault.get(),
                    "nothing was changed; fix the file first");
        }
    }

    /** By its own judgement; empty also for releases before 23.0, which have none. */
    private Optional<String> fault(String text) throws IOException {
        Path file = Files.createTempFile("daemon", ".json");
        try {
            Files.writeString(file, text);
            List<String> command = new ArrayList<>(List.of("/proc/" + pid() + "/exe"));
            boolean skip = false;
            for (String word : arguments()) {
                if (!skip && !word.equals(CONFIG) && !word.startsWith(CONFIG + "=")) {
                    command.add(word);
                }
                skip = word.equals(CONFIG);
            }
            command.addAll(List.of("--validate", CONFIG + "=" + file));
            ShortProcess.Result result = ShortProcess.run(new ProcessBuilder(command), LIMIT);
            if (result.exitCode() == 0 || result.output().contains("unknown flag")) {
                return Optional.empty();
            }
            String last = result.output().strip().lines().reduce((_, line) -> line).orElse("");
            int reason = last.indexOf(file + ": ");
            return Optional.of(
                    Quote.shown(
                            reason < 0
                                    ? last
                                    : last.substring(reason + file.toString().length() + 2)));
        } catch (IOException e) {
            LOG.debug("dockerd does not validate its configuration: {}", e.getMessage());
            return Optional.empty();
        } finally {
            Files.deleteIfExists(file);
        }
    }

    /** Has it read its configuration again, as 'systemctl reload docker' does. */
    public void reload() throws IOException {
        ShortProcess.Result result =
                ShortProcess.run(
                        new ProcessBuilder("kill", "-HUP", Integer.toString(pid())), LIMIT);
        if (result.exitCode() != 0) {
            throw new IOException(
                    "dockerd (pid " + pid() + ") cannot be signalled: " + result.output().strip());
        }
    }
}
