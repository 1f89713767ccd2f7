package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;

import jnvdocker.tests.world.CProgram;
import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.Directories;
import jnvdocker.tests.world.Lab;
import jnvdocker.tests.world.Project;
import jnvdocker.tests.world.TestEngine;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/**
 * The commands that two pages of the manual show print what the pages show, up to times, ids and
 * names. A comment {@code <!-- not run: REASON -->} before a block excludes it.
 */
@Tag("docker")
@Tag("root")
class TranscriptTest {
    private static final String PROMPT = "    $ jnvdocker ";

    /** Users of Debian's, for the manual's alice and bob. */
    private static final Map<String, Integer> USERS = Map.of("alice", 5, "bob", 6);

    private static Lab lab;
    private static Path programs;

    private final List<Process> started = new ArrayList<>();

    /** A code block, with the heading above it. */
    private record Block(String heading, List<String> lines) {
        @Override
        public String toString() {
            return heading + ": " + lines.getFirst().strip();
        }
    }

    @BeforeAll
    static void open() {
        lab = new Lab(TestEngine.Release.wanted(), 6);
        lab.docker("tag", "plain", "nvidia/cuda").ok();
        lab.docker("tag", "plain", "app").ok();
        programs = Directories.make("programs");
        CProgram.put("holdopen", programs.resolve("python3"));
        for (String name : List.of("train.py", "nvidia-smi")) {
            Command.of("cp", "/bin/sleep", programs.resolve(name)).run().ok();
        }
    }

    @AfterAll
    static void close() {
        lab.close();
        Directories.remove(programs);
    }

    @AfterEach
    void nothingIsLeft() throws InterruptedException {
        for (Process process : started) {
            process.destroyForcibly().waitFor();
        }
        lab.jnvdocker("gpu", "uncordon", "4");
        lab.clear();
        // Each section begins without past leases and refusals.
        lab.daemon().stop();
        Command.of("find", lab.daemon().state(), "-name", "registry*", "-delete").run().ok();
        lab.startDaemon();
    }

    static Stream<Block> blocks() throws IOException {
        List<Block> blocks = new ArrayList<>();
        for (String page : List.of("leases.md", "waiting.md")) {
            String heading = "";
            boolean excluded = false;
            Block block = null;
            for (String line :
                    Files.readAllLines(Project.source("src/site/markdown").resolve(page))) {
                heading = line.startsWith("#") ? line.replaceFirst("#+ ", "") : heading;
                if (block != null && line.startsWith("    ")) {
                    block.lines().add(line.strip());
                } else if (!excluded && line.startsWith(PROMPT)) {
                    block = new Block(heading, new ArrayList<>(List.of(line.strip())));
                    blocks.add(block);
                } else if (!line.isBlank() && !line.startsWith("    ")) {
                    block = null;
                    excluded = line.startsWith("<!-- not run: ");
                }
            }
        }
        return blocks.stream();
    }

    @ParameterizedTest
    @MethodSource("blocks")
    void commandsPrintThis(Block block) {
        prepare(block.heading());
        List<String> printed = new ArrayList<>();
        for (String line : block.lines()) {
            if (line.startsWith("$ ")) {
                printed.add(line);
                String path = Project.tree().resolve("bin") + ":" + System.getenv("PATH");
                Command.of("sh", "-c", "exec 2>&1; " + line.substring(2))
                        .with(lab.daemon().environment())
                        .with("PATH", path)
                        .run()
                        .out()
                        .lines()
                        .forEach(printed::add);
            }
        }
        List<String> shown = block.lines().stream().map(TranscriptTest::plain).toList();
        List<String> real = printed.stream().map(TranscriptTest::plain).toList();
        assertEquals(String.join("\n", shown), String.join("\n", cut(real, shown)));
    }

    /** Without what differs from run to run. */
    private static String plain(String line) {
        return line.strip()
                .replaceAll("\\b[0-9a-f]{12}\\b", "ID")
                .replaceAll("\\bpid \\d+", "pid N")
                .replaceAll("\\b\\d\\d:\\d\\d\\b", "TIME")
                .replaceAll("\\b(\\d+[dhms])+\\b", "AGE")
                .replaceAll("\\b(root|alice|games|bob|man)\\b", "USER")
                .replaceAll(
                        "its first process \\(pid N\\) is gone|docker has unmounted it, and.*",
                        "EVIDENCE")
                .replaceAll("^\\d+ +ID", "N ID")
                .replaceAll("  +", " ")
                // The column PID.
                .replaceAll("TIME AGE \\d+", "TIME AGE N");
    }

    /** Cuts a line where the manual has an ellipsis. */
    private static List<String> cut(List<String> real, List<String> shown) {
        List<String> cut = new ArrayList<>(real);
        for (int i = 0; i < Math.min(real.size(), shown.size()); i++) {
            int at = shown.get(i).indexOf('…');
            if (at >= 0 && real.get(i).length() > at) {
                cut.set(i, real.get(i).substring(0, at) + "…");
            }
        }
        return cut;
    }

    /** Makes what the block's section presumes. */
    private void prepare(String heading) {
        switch (heading) {
            case "gpu ls" -> {
                container("alice", "train-7", "device=0,1");
                lab.jnvdocker("gpu", "run", "--gpus", "device=5", "--", "true").ok();
                Path train = programs.resolve("train.py");
                start("bob", "gpu", "run", "--gpus", "device=2", "--", train, "1000");
                started.add(Command.of(programs.resolve("python3"), node(1)).start());
                started.add(Command.of(programs.resolve("python3"), node(3)).start());
                lab.jnvdocker("gpu", "cordon", "4", "--reason", "fan is loud").ok();
                start("bob", "gpu", "run", "--gpus", "device=0", "--gpu-wait", "--", "true");
                start("bob", "gpu", "run", "--gpus", "device=0", "--gpu-wait", "--", "true");
                awaitIn("ls", "used by python3", "UNMANAGED", "2 clients wait");
            }
            case "gpu why", "gpu release" -> container("root", "train-7", "device=0,2");
            case "gpu leases" -> {
                container("root", "train-7", "device=0,2");
                for (String name : List.of("train-6", "infer")) {
                    container("root", name, "device=" + (name.equals("infer") ? 3 : 1));
                    lab.docker("kill", name).ok();
                }
                String why = "driver hangs, host reboots tonight";
                lab.awaitHolders(Map.of(0, "train-7", 2, "train-7"));
                lab.jnvdocker("gpu", "release", "train-7", "--force", "--reason", why).ok();
            }
            case "Refusals" -> {
                container("bob", "train-7", "device=0-2,4,5");
                lab.as(USERS.get("alice"), "run", "--gpus", "2", "app", "true").run();
            }
            case "gpu queue" -> {
                container("alice", "train-7", "device=0");
                container("root", "train-8", "device=1-5");
                start("alice", "run", "--gpus", "all", "--gpu-wait", "nvidia/cuda", "true");
                awaitIn("queue", "\n1 ");
                start("bob", "run", "--gpus", "device=1", "--gpu-wait", "nvidia/cuda", "true");
                awaitIn("queue", "\n2 ");
                start("root", "gpu", "run", "--gpus", "1", "--gpu-wait", "--", "nvidia-smi");
                awaitIn("queue", "\n3 ");
            }
            default -> throw new AssertionError("nothing is prepared for " + heading);
        }
    }

    private static Command as(String user, Object... words) {
        return USERS.containsKey(user)
                ? lab.as(USERS.get(user), words)
                : lab.daemon().jnvdocker(words);
    }

    private static void container(String user, String name, String gpus) {
        Object[] words = {
            "run",
            "-d",
            "--name",
            name,
            "--network",
            "none",
            "--stop-signal",
            "KILL",
            "--gpus",
            gpus,
            "nvidia/cuda",
            "sleep",
            "1000"
        };
        as(user, words).run().ok();
        Lab.await(() ->
                lab.registry().liveOf(name).isPresent()
                        ? List.of()
                        : List.of(name + " has no lease"));
    }

    /** Starts a command that lasts, until the end of the test. */
    private void start(String user, Object... words) {
        String path = programs + ":" + System.getenv("PATH");
        started.add(as(user, words).with("PATH", path).start());
    }

    private static String node(int gpu) {
        return lab.host().directory().resolve("dev/nvidia" + gpu).toString();
    }

    private static void awaitIn(String command, String... words) {
        Lab.await(() -> {
            String out = lab.jnvdocker("gpu", command).ok().out();
            return Stream.of(words).filter(word -> !out.contains(word)).toList();
        });
    }
}
