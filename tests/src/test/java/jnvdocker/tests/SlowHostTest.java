package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.attack.Attack;
import jnvdocker.tests.world.CProgram;
import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.Directories;
import jnvdocker.tests.world.Lab;
import jnvdocker.tests.world.Project;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;
import java.util.stream.IntStream;

/** Parts of a host never answer: operations that do not need them are not affected. */
@Attack(
        by = "a file system",
        what = "never answers, and is named by 20 `--device` at once",
        result = "they are refused, with its path; others run")
class SlowHostTest extends OneEngineTest {
    private static final int USER = 4_000_000;

    private static Path directory;
    private static Path hangfs;

    @BeforeAll
    static void compile() {
        directory = Directories.make("slow");
        hangfs = directory.resolve("hangfs");
        CProgram.put("hangfs", hangfs);
        Command.of(
                        "gcc",
                        "-shared",
                        "-fPIC",
                        "-o",
                        directory.resolve("libnss_silent.so.2"),
                        Project.world("nss-silent.c"))
                .run()
                .ok();
    }

    @AfterAll
    static void removeAll() {
        Directories.remove(directory);
    }

    /** A directory that never answers in some mount namespaces. */
    private static final class Hanging implements AutoCloseable {
        private final Path directory;
        private final Object[] namespace;
        private final Process process;

        /**
         * @param namespace the command prefix that enters the mount namespace in which the
         *     directory hangs
         */
        Hanging(Path directory, Object... namespace) throws IOException {
            this.directory = directory;
            this.namespace = namespace;
            process = Command.of(hangfs, directory).after(namespace).start();
            assertEquals("mounted", process.inputReader().readLine());
        }

        /** Processes that wait for the directory get an error. */
        @Override
        public void close() {
            process.destroyForcibly().onExit().join();
            Command.of("umount", "-l", directory).after(namespace).run().ok();
        }
    }

    /** Docker holds a container's lock for as long as it tries to start it. */
    @Test
    void containerWhoseInspectHangsDisturbsNobody() throws Exception {
        lab.run("train", 0);
        lab.awaitHolders(Map.of(0, "train"));
        int dockerd = lab.registry().liveOf("train").orElseThrow().pid();
        Path data = Files.createDirectory(directory.resolve("data"));
        lab.create("stuck", 1, "-v", data + ":/data");
        CompletableFuture<Command.Result> start;
        try (Hanging _ = new Hanging(data, "nsenter", "--mount", "--target", dockerd)) {
            start = CompletableFuture.supplyAsync(() -> lab.docker("start", "stuck"));
            Lab.await(() -> inspectAnswers("stuck") ? List.of("it is inspected") : List.of());

            var shown = many(20, () -> lab.daemon().jnvdocker("gpu", "ls"));
            lab.run("next", 2);
            lab.docker("restart", "-t", "0", "train").ok();
            lab.jnvdocker("run", "--rm", "plain", "true").ok();
            shown.forEach(result -> result.join().ok());
            assertFalse(start.isDone(), () -> start.join().toString());
        }
        assertTrue(start.join().exitCode() != 0, () -> start.join().toString());
        lab.awaitHolders(Map.of(0, "train", 2, "next"));
    }

    private static boolean inspectAnswers(String container) {
        return Command.of("timeout", "1", "docker", "inspect", container)
                        .with("DOCKER_HOST", lab.engine().url())
                        .run()
                        .exitCode()
                == 0;
    }

    private static List<CompletableFuture<Command.Result>> many(
            int times, Supplier<Command> typed) {
        return IntStream.range(0, times)
                .mapToObj(_ -> typed.get())
                .map(command ->
                        CompletableFuture.supplyAsync(command::run, Thread::startVirtualThread))
                .toList();
    }

    @Test
    void deviceOfAFileSystemThatDoesNotAnswerIsRefused() throws Exception {
        Path hung = Files.createDirectory(directory.resolve("hung"));
        try (Hanging _ = new Hanging(hung)) {
            var refused =
                    many(
                            20,
                            () ->
                                    lab.daemon()
                                            .jnvdocker(
                                                    "run",
                                                    "--device",
                                                    hung.resolve("node"),
                                                    "plain"));
            lab.run("train", 0);
            for (var each : refused) {
                Command.Result result = each.join();
                assertEquals(125, result.exitCode(), result::toString);
                assertTrue(
                        result.err()
                                .startsWith(
                                        "jnvdocker: --device '"
                                                + hung.resolve("node")
                                                + "': it is not known whether that is a GPU ("),
                        result::toString);
            }
            lab.jnvdocker("run", "--rm", "--gpus", "1", "plain", "true").ok();
            for (int i = 0; i < 8; i++) {
                lab.jnvdocker("run", "--device", hung.resolve("node" + i), "plain");
            }
            lab.jnvdocker("run", "--rm", "--device", "/dev/null:/dev/nothing", "plain", "true")
                    .ok();
        }
    }

    /** Names are for display only, so the uid serves as well. */
    @Test
    void userWhomNoNameServiceKnowsIsANumber() throws Exception {
        Path names =
                Files.writeString(directory.resolve("nsswitch.conf"), "passwd: files silent\n");
        lab.daemon().stop();
        Process daemon =
                lab.daemon()
                        .jnvdockerd()
                        .with("LD_LIBRARY_PATH", directory)
                        .after(
                                "unshare",
                                "--mount",
                                "--propagation=slave",
                                "sh",
                                "-c",
                                "mount --bind '" + names + "' /etc/nsswitch.conf && exec \"$@\"",
                                "sh")
                        .log(lab.daemon().log())
                        .start();
        try {
            Lab.await(() -> Files.exists(lab.daemon().socket()) ? List.of() : List.of("no socket"));
            for (int i = 0; i < 3; i++) {
                lab.as(USER + i, "run", "-d", "--gpus=device=" + i, "plain", "sleep", "1000")
                        .run()
                        .ok();
            }
            String shown = lab.jnvdocker("gpu", "ls").ok().out();
            for (int i = 0; i < 3; i++) {
                assertTrue(shown.contains(" " + (USER + i) + " "), shown);
            }
            lab.run("train", 3);
            Command.Result refused = lab.gpuContainer("run", "late", 0).run();
            assertTrue(
                    refused.err().contains("is held by uid " + USER + "'s container"),
                    refused::toString);
            lab.configure("[limits]\n'@students' = { gpus = 1 }\n");
            for (Object user : List.of(USER, "carol")) {
                Command.Result limits =
                        lab.daemon().jnvdocker("gpu", "limits", user).after("timeout", "20").run();
                assertEquals(125, limits.exitCode(), limits::toString);
            }
            lab.jnvdocker("gpu", "ls").ok();
        } finally {
            lab.configure("");
            daemon.destroy();
            daemon.waitFor();
        }
    }
}
