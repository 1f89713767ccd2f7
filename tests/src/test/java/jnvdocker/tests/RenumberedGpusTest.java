package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;

import jnvdocker.attack.Attack;
import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.Lab;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import java.io.IOException;
import java.nio.file.Files;
import java.util.List;
import java.util.Map;

/**
 * The driver is loaded again while holders run that have nothing open, and numbers the GPUs' nodes
 * anew: a card has one holder all the same.
 */
@Attack(
        by = "a member",
        what =
                "keeps the node of a GPU while the driver is loaded again without another GPU,"
                        + " or with two in the other order: the node is another card by then",
        result =
                "the card is the holder's, too: refused to all others with whose it is, and"
                        + " named by `gpu ls`, `why` and `doctor`")
class RenumberedGpusTest extends RuntimeEngineTest {
    private static final String SECOND = "GPU-5c1a1003";
    private static final String THIRD = "GPU-5c1a2006";

    private Process program;

    /** How the holder started. */
    enum Kind {
        RUNTIME,
        RUN,
        PROGRAM
    }

    @AfterEach
    void numbersAreAsBefore() {
        lab.host().load(0, 1, 2, 3);
        if (program != null) {
            program.descendants().forEach(ProcessHandle::destroyForcibly);
            program.destroyForcibly();
        }
        lab.clear();
        awaitHolders(Map.of());
    }

    /** Returns the name under which the holder of GPU 1 is shown. */
    private String hold(Kind kind) throws IOException {
        switch (kind) {
            case RUNTIME -> start("holder", "--label=jnvdocker.gpus=device=1").ok();
            case RUN -> lab.run("holder", 1, "--runtime=runc");
            case PROGRAM ->
                    program =
                            lab.daemon()
                                    .jnvdocker("gpu", "run", "--gpus=device=1", "sleep", "1000")
                                    .start();
        }
        String name =
                switch (kind) {
                    case RUNTIME -> "somebody's container holder";
                    case RUN -> "root's container holder";
                    case PROGRAM -> "root's process sleep";
                };
        Lab.await(() ->
                status(1).path("state").asText().equals("held") ? List.of() : List.of("not held"));
        return name;
    }

    private static JsonNode status(int index) {
        return lab.jnvdocker("gpu", "ls", "--json").ok().json().path(index);
    }

    /** Every way to that card is refused, with whose it is. */
    private static void assertNobodyGets(String uuid, String why) {
        List<Command.Result> refused =
                List.of(
                        lab.docker(
                                "run",
                                "--rm",
                                "--runtime=nvidia",
                                "--label=jnvdocker.gpus=device=" + uuid,
                                "plain",
                                "true"),
                        lab.jnvdocker(
                                "run",
                                "--rm",
                                "--runtime=runc",
                                "--gpus=device=" + uuid,
                                "plain",
                                "true"),
                        lab.jnvdocker("gpu", "run", "--gpus=device=" + uuid, "true"));
        refused.forEach(result -> assertRefused(result, why));
    }

    private static String open(String third, String holder) {
        return "GPU "
                + third
                + " ("
                + THIRD
                + ") is open to "
                + holder
                + (holder.contains("process") ? " (pid " : ", which was given /dev/nvidia1 as");
    }

    private static void loseRegistry() throws IOException {
        lab.daemon().stop();
        for (String file : List.of("registry.db", "registry.db-wal", "registry.db-shm")) {
            Files.deleteIfExists(lab.daemon().state().resolve(file));
        }
        lab.startDaemon();
    }

    private static void restart() {
        lab.daemon().kill();
        lab.startDaemon();
    }

    @ParameterizedTest
    @EnumSource
    void cardThatAnotherHolderMayOpenIsNotFree(Kind kind) throws IOException {
        String holder = hold(kind);
        lab.host().load(1, 2, 3);
        assertCardIsTheHolders(holder);
        restart();
        assertCardIsTheHolders(holder);
        loseRegistry();
        assertCardIsTheHolders(holder);
    }

    /** GPU 1 has become the first, and GPU 2 has the node that the holder was given. */
    private static void assertCardIsTheHolders(String holder) {
        assertNobodyGets(THIRD, open("1", holder));
        JsonNode own = status(0);
        JsonNode opened = status(1);
        assertEquals("held", own.path("state").asText(), own::toString);
        assertEquals("held", opened.path("state").asText(), opened::toString);
        assertEquals(
                "its holder was given /dev/nvidia1, and it is /dev/nvidia0 now",
                own.path("note").asText());
        assertEquals(
                "its holder was given /dev/nvidia1 as GPU 1 (" + SECOND + ")",
                opened.path("note").asText());
        String doctor = lab.jnvdocker("gpu", "doctor").out();
        assertTrue(doctor.contains(open("1", holder)), doctor);
        String why = lab.jnvdocker("gpu", "why", "1").ok().out();
        assertTrue(why.contains("is open to " + holder), why);
        // The fourth is nobody's.
        assertEquals("free", status(2).path("state").asText());
        lab.docker("run", "--rm", "--runtime=nvidia", "--label=jnvdocker.gpus=1", "plain", "true")
                .ok();
        Lab.await(() -> {
            String state = status(2).path("state").asText();
            return state.equals("free") ? List.of() : List.of(state);
        });
    }

    @Test
    void ofTwoThatComeBackInTheOtherOrderBothAreTheHolders() throws IOException {
        String holder = hold(Kind.RUNTIME);
        lab.host().load(0, 2, 1, 3);
        assertNobodyGets(THIRD, open("2", holder));
        assertNobodyGets(SECOND, "GPU 1 (" + SECOND + ") is held by " + holder);
        restart();
        assertNobodyGets(THIRD, open("2", holder));
    }

    @Test
    void bothOfTwoHoldersAreNamed() {
        start("first", "--label=jnvdocker.gpus=device=1").ok();
        start("second", "--label=jnvdocker.gpus=device=2").ok();
        lab.host().load(0, 2, 1, 3);
        assertEquals("second", status(2).path("container_name").asText());
        String note = status(2).path("note").asText();
        assertEquals(
                "its holder was given /dev/nvidia2, and it is /dev/nvidia1 now; open to first, too",
                note);
        lab.docker("rm", "-f", "second").ok();
        // Not free before its other holder ends.
        assertNobodyGets(THIRD, open("2", "somebody's container first"));
        lab.docker("rm", "-f", "first").ok();
        start("third", "--label=jnvdocker.gpus=device=" + THIRD).ok();
        awaitHolders(Map.of(2, "third"));
    }

    /** Its restart gives it the node that its own GPU has now. */
    @Test
    void restartedContainerHasTheNodeOfItsOwnGpu() {
        start("holder", "--label=jnvdocker.gpus=device=" + SECOND).ok();
        lab.host().load(0, 2, 1, 3);
        assertNobodyGets(THIRD, open("2", "somebody's container holder"));
        lab.docker("restart", "-t0", "holder").ok();
        Lab.await(() -> {
            JsonNode third = status(2);
            return third.path("state").asText().equals("free")
                    ? List.of()
                    : List.of(third.toString());
        });
        assertTrue(lab.docker("exec", "holder", "ls", "/dev").ok().out().contains("nvidia2"));
    }

    /** Of a node that a holder names as nvidia1, the number counts that it has by then. */
    @Test
    void waiterGetsTheCardWhenItsOtherHolderHasEnded() throws Exception {
        start("holder", "--label=jnvdocker.gpus=device=1").ok();
        lab.host().load(1, 2, 3);
        Process waiter =
                lab.daemon()
                        .jnvdocker("gpu", "run", "--gpu-wait", "--gpus=device=" + THIRD, "true")
                        .start();
        Lab.await(() -> lab.registry().tickets() == 1 ? List.of() : List.of("nobody waits"));
        lab.docker("rm", "-f", "holder").ok();
        assertEquals(0, waiter.waitFor());
    }
}
