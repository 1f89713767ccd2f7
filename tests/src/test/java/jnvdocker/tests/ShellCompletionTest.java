package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.Directories;
import jnvdocker.tests.world.Lab;
import jnvdocker.tests.world.Project;
import jnvdocker.tests.world.Terminal;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** TAB in bash, zsh and fish, with docker's own completion and without a daemon. */
class ShellCompletionTest extends OneDaemonTest {
    private static final Path SHARE = Project.tree().resolve("share");
    private static final Path DIRECTORY = Directories.make("shells");
    private static final String TAB = "\t";
    private static final String CLEAR_LINE = "\u0015";
    private static final String BELL = "\u0007*";

    /** The tree is not where packages have it, and lists are shown at once and whole. */
    @BeforeAll
    static void configureShells() throws IOException {
        Files.writeString(
                DIRECTORY.resolve("bashrc"),
                """
                PS1='> '
                . /usr/share/bash-completion/bash_completion
                bind 'set completion-query-items 0'
                bind 'set page-completions off'
                bind 'set show-all-if-ambiguous on'
                """);
        Files.writeString(
                DIRECTORY.resolve(".zshrc"),
                """
                PS1='> '
                fpath=(%s/zsh/vendor-completions $fpath)
                autoload -U compinit
                compinit -u -d %s/zcompdump
                compdef _jnvdocker docker
                LISTMAX=1000
                """
                        .formatted(SHARE, DIRECTORY));
        Files.writeString(DIRECTORY.resolve("program.tar"), "");
    }

    @AfterAll
    static void removeConfiguration() {
        Directories.remove(DIRECTORY);
    }

    private static Command shell(String path, String... words) {
        return Command.of((Object[]) words)
                .with(daemon.environment())
                .with(
                        "PATH",
                        path + ":" + Project.tree().resolve("bin") + ":" + System.getenv("PATH"))
                .with("XDG_DATA_DIRS", SHARE + ":/usr/share")
                .with("XDG_DATA_HOME", DIRECTORY.resolve("data"))
                .with("XDG_CONFIG_HOME", DIRECTORY)
                .with("ZDOTDIR", DIRECTORY)
                .with("HOME", DIRECTORY)
                .with("TERM", "dumb")
                .with("DOCKER_HOST", "unix://" + DIRECTORY.resolve("no-docker.sock"))
                .in(DIRECTORY);
    }

    private static Terminal terminal(Command shell) {
        Terminal terminal = new Terminal(shell, 200, 50);
        await(terminal, 0, "> ");
        return terminal;
    }

    private static Terminal bash() {
        return terminal(
                shell(DIRECTORY.toString(), "bash", "--rcfile", DIRECTORY + "/bashrc", "-i"));
    }

    private static void await(Terminal terminal, int from, String... patterns) {
        Lab.await(() -> {
            String written = terminal.written();
            String since = written.substring(Math.min(from, written.length()));
            return Stream.of(patterns)
                    .filter(pattern -> !Pattern.compile(pattern).matcher(since).find())
                    .map(pattern -> "no " + pattern + " in " + since)
                    .toList();
        });
    }

    /** Types a command line, and more, and waits for what the shell makes of it. */
    private static void type(Terminal terminal, String keys, String... patterns) {
        int from = terminal.written().length();
        (CLEAR_LINE + keys).chars().forEach(key -> terminal.type((char) key));
        await(terminal, from, patterns);
    }

    private static void assertCompletes(Terminal shell) {
        type(shell, "jnvdocker gpu wh" + TAB, "jnvdocker gpu why ");
        type(shell, "jnvdocker gpu why " + TAB, "\\b0 ", "\\b3 ", "GPU-5c1a2006-[-0-9a-f]{27}");
        type(shell, "jnvdocker gpu cordon GPU-5c1a1" + TAB, "GPU-5c1a1003-[-0-9a-f]{27} ");
        type(shell, "jnvdocker gpu run --gpus=n" + TAB, "--gpus=none ");
        type(shell, "jnvdocker gpu run -- ls prog" + TAB, "ls program.tar ");
        type(shell, "jnvdocker gpu needs ./pr" + TAB, "needs ./program.tar ");
        type(shell, "jnvdocker runtime install --config=pr" + TAB, "--config=program.tar ");
        type(shell, "jnvdocker run --gpu-w" + TAB, "jnvdocker run --gpu-wait ");
        type(shell, "jnvdocker create --gpus no" + TAB, "--gpus none ");
        type(shell, "jnvdocker ps --forma" + TAB, "jnvdocker ps --format");
        type(
                shell,
                "jnvdocker gpu release $(touch$IFS./typed)" + TAB + "Z",
                "typed\\)" + BELL + "Z");
    }

    private static void assertNothingRan() throws IOException {
        try (Stream<Path> files = Files.list(DIRECTORY)) {
            assertEquals(List.of(), files.filter(it -> it.endsWith("typed")).toList());
        }
    }

    @Test
    void bashCompletesOursAndDockers() throws IOException {
        try (Terminal bash = bash()) {
            assertCompletes(bash);
            type(bash, "jnvdocker run --gp" + TAB, "--gpus ", "--gpu-time ", "--gpu-wait ");
            type(bash, "jnvdocker ru" + TAB, "run ", "runtime ");
            type(bash, "jnvdocker run --gpus=dev" + TAB, "device=0 ", "device=3 ");
            // Only what leads to jnvdocker has its words.
            type(bash, "docker gpu wh" + TAB + "Z", "docker gpu wh" + BELL + "Z");
        }
        assertNothingRan();
    }

    /** As the manual says, for a link in place of docker. */
    @Test
    void bashCompletesALinkNamedDocker() throws IOException {
        Path completions = DIRECTORY.resolve("data/bash-completion/completions");
        Files.createDirectories(completions);
        Path script = SHARE.resolve("bash-completion/completions/jnvdocker");
        Files.createSymbolicLink(completions.resolve("docker"), script);
        Files.createSymbolicLink(
                DIRECTORY.resolve("docker"), Project.tree().resolve("bin/jnvdocker"));
        try (Terminal bash = bash()) {
            for (String docker : List.of("jnvdocker", "docker", "jnvdocker")) {
                type(bash, docker + " ps --forma" + TAB, docker + " ps --format");
                type(bash, docker + " gpu wh" + TAB, docker + " gpu why ");
            }
        } finally {
            Files.delete(DIRECTORY.resolve("docker"));
            Files.delete(completions.resolve("docker"));
        }
    }

    @Test
    void zshCompletesOursAndDockers() throws IOException {
        try (Terminal zsh = terminal(shell(DIRECTORY.toString(), "zsh", "-i"))) {
            assertCompletes(zsh);
            type(zsh, "jnvdocker gpu why " + TAB, "3 +-- GPU-5c1a3009 NVIDIA A100");
            type(zsh, "jnvdocker ru" + TAB + TAB, "runtime +-- Give ", "run +-- ");
            type(zsh, "docker gpu wh" + TAB, "docker gpu why ");
            type(zsh, "docker ps --forma" + TAB, "docker ps --format");
        }
        assertNothingRan();
    }

    private static List<String> fish(String line) {
        return fish("", line);
    }

    private static List<String> fish(String configuration, String line) {
        String script = configuration + "; complete -C $argv[1]";
        return shell(DIRECTORY.toString(), "fish", "-c", script, "--", line)
                .run()
                .ok()
                .out()
                .lines()
                .toList();
    }

    @Test
    void fishCompletesOursAndDockers() throws IOException {
        assertEquals(
                List.of("why\tExplain why a GPU is free or not, who had it before, and what to do"),
                fish("jnvdocker gpu wh"));
        assertEquals(
                List.of(
                        "2\tGPU-5c1a2006 NVIDIA A100-SXM4-40GB",
                        "GPU-5c1a2006-1d2c-4e5f-8a9b-012345678902\tGPU 2"),
                Stream.of("2", "GPU-5c1a2")
                        .flatMap(typed -> fish("jnvdocker gpu why " + typed).stream())
                        .toList());
        assertEquals(
                List.of("--gpu-wait\tWait for GPUs that are held by others"),
                fish("jnvdocker run --gpu-w"));
        assertTrue(fish("jnvdocker ru").stream().anyMatch(it -> it.startsWith("run\t")));
        assertEquals(fish("docker ps --filt"), fish("jnvdocker ps --filt"));
        assertTrue(fish("jnvdocker ps --filt").getFirst().startsWith("--filter"));
        assertEquals(List.of("program.tar"), fish("jnvdocker gpu run -- ls prog"));
        assertEquals(
                List.of("--config=program.tar"), fish("jnvdocker runtime install --config=pr"));
        String link = "complete -c docker -w jnvdocker";
        assertEquals(fish("jnvdocker gpu wh"), fish(link, "docker gpu wh"));
        assertEquals(fish("docker ps --filt"), fish(link, "docker ps --filt"));
        assertEquals(List.of(), fish("jnvdocker gpu release $(touch$IFS./typed)"));
        assertNothingRan();
    }

    @Test
    void withoutADaemonThereIsDockersAlone() {
        daemon.stop();
        try (Terminal bash = bash()) {
            type(bash, "jnvdocker gpu wh" + TAB + "Z", "jnvdocker gpu wh" + BELL + "Z");
            type(bash, "jnvdocker run --nam" + TAB, "jnvdocker run --name ");
        } finally {
            assertTrue(Files.notExists(daemon.socket()), "a TAB has started the daemon");
            daemon.jnvdocker("gpu", "ls").run().ok();
        }
    }

    @Test
    void daemonThatHangsIsNotWaitedFor() {
        String pid = Long.toString(daemon.pid().orElseThrow());
        Command.of("kill", "-STOP", pid).run().ok();
        try (Terminal bash = bash()) {
            Instant began = Instant.now();
            type(bash, "jnvdocker gpu wh" + TAB + "Z", "jnvdocker gpu wh" + BELL + "Z");
            type(bash, "jnvdocker run --nam" + TAB, "jnvdocker run --name ");
            Duration took = Duration.between(began, Instant.now());
            assertTrue(took.compareTo(Duration.ofSeconds(10)) < 0, took::toString);
        } finally {
            Command.of("kill", "-CONT", pid).run().ok();
        }
    }
}
