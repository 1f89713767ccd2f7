package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;

import jnvdocker.attack.Attack;
import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.Directories;
import jnvdocker.tests.world.KillPoint;
import jnvdocker.tests.world.SocketRelay;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import java.io.IOException;
import java.net.UnixDomainSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A client is killed at any moment, also after it has become docker: no GPU stays reserved for it,
 * and nothing half-made is left.
 */
@Attack(
        by = "a fault",
        what = "the client is killed at any moment",
        result =
                "18 moments of each of `run -d` and `create`, and docker itself amid `run` and"
                        + " `create` at up to 11: nothing stays held or half-made")
class ClientCrashTest extends OneEngineTest {
    private static final int KILLED = 128 + 9;
    private static final int GPUS = 4;

    private static Path directory;

    /** Commands as typed. The file makes the daemon have the client call a program. */
    enum Typed {
        RUN_DETACHED("run -d --env-file FILE --gpus 1 plain sleep 1000"),
        RUN("run --env-file FILE --gpus 1 plain sleep 1"),
        CREATE("create --env-file FILE --gpus 1 plain true");

        private final String words;

        Typed(String words) {
            this.words = words;
        }

        Command command() {
            String file = directory.resolve("env").toString();
            return lab.daemon().jnvdocker((Object[]) words.replace("FILE", file).split(" "));
        }
    }

    @BeforeAll
    static void makeDirectory() throws IOException {
        directory = Directories.make("client");
        Files.writeString(directory.resolve("env"), "KEY=value\n");
    }

    @AfterAll
    static void removeDirectory() {
        Directories.remove(directory);
    }

    @ParameterizedTest
    @EnumSource(names = {"RUN_DETACHED", "CREATE"})
    void clientKilledAtAnyMomentOfItsTalkWithTheDaemonHoldsNothing(Typed typed) {
        int moment = 1;
        while (talkUpTo(moment, typed)) {
            assertAllCanBeHad();
            assertEquals("", lab.docker("ps", "-aq").ok().out(), "docker was not run");
            moment++;
        }
        lab.awaitTruth();
        System.out.println(
                typed + ": the client was killed at each of " + (moment - 1) + " moments");
    }

    /** Returns whether the client was killed. */
    private static boolean talkUpTo(int moment, Typed typed) {
        try (KillPoint point = KillPoint.talking(lab.daemon().socket(), moment)) {
            Command.Result result = typed.command().with(point.environment()).run();
            if (result.exitCode() != KILLED) {
                result.ok();
            }
            return result.exitCode() == KILLED;
        }
    }

    /** Asserts that all GPUs are available immediately, to any client. */
    private static void assertAllCanBeHad() {
        String container =
                lab.jnvdocker("create", "--gpus", GPUS, "plain", "true").ok().out().strip();
        lab.docker("rm", container).ok();
    }

    @ParameterizedTest
    @EnumSource(names = {"RUN", "CREATE"})
    void dockerKilledAtAnyMomentOfItsTalkWithTheEngineHoldsNoMoreThanItsContainer(Typed typed)
            throws Exception {
        int moment = 1;
        while (dockerUpTo(moment, typed)) {
            lab.awaitTruth();
            if (lab.registry().holders().isEmpty()) {
                assertAllCanBeHad();
            }
            lab.engine().removeContainers();
            moment++;
        }
        System.out.println(typed + ": docker was killed at each of " + (moment - 1) + " moments");
    }

    /**
     * Kills docker when that many pieces of its talk, from either side, have passed; returns
     * whether it was killed.
     */
    private static boolean dockerUpTo(int moment, Typed typed) throws Exception {
        Path socket = directory.resolve("docker.sock");
        CompletableFuture<Process> docker = new CompletableFuture<>();
        AtomicInteger passed = new AtomicInteger();
        SocketRelay.Tap kill =
                piece -> {
                    piece.deliver();
                    if (passed.incrementAndGet() == moment) {
                        docker.join().destroyForcibly();
                    }
                };
        // A script, so that jnvdocker does not see another engine in it.
        Path program = directory.resolve("docker");
        Files.writeString(
                program, "#!/bin/sh\nDOCKER_HOST=unix://" + socket + " exec docker \"$@\"\n");
        Command.of("chmod", "755", program).run().ok();
        try (SocketRelay _ =
                new SocketRelay(UnixDomainSocketAddress.of(socket), lab.engine().socket(), kill)) {
            docker.complete(
                    typed.command()
                            .with("NV_DOCKER", program)
                            .log(directory.resolve("log"))
                            .start());
            return docker.join().waitFor() == KILLED;
        }
    }
}
