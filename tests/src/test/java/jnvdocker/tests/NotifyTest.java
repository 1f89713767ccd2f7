package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;

import jnvdocker.attack.Attack;
import jnvdocker.tests.world.Directories;
import jnvdocker.tests.world.Lab;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Programs of an administrator's that are run for each event. */
@Attack(
        by = "any user",
        what = "reads the event of another user in `/run/jnvdocker`",
        result = "mode 0600")
class NotifyTest extends OneEngineTest {
    private static final int ALICE = 61001;
    private static final int BOB = 61002;

    private Path directory;
    private Path received;

    @BeforeEach
    void makeDirectory() throws IOException {
        directory = Files.createDirectory(Path.of("/root/notify-" + System.nanoTime()));
        received = directory.resolve("received.txt");
    }

    @AfterEach
    void removeDirectory() {
        lab.configure("");
        Directories.remove(directory);
    }

    private void program(String name, String mode, String script) throws IOException {
        Path file = directory.resolve(name);
        Files.writeString(file, "#!/bin/sh\n" + script + "\n");
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString(mode));
    }

    /** The events of alice alone: those of another test may still wait for a slow program. */
    private List<JsonNode> events(String name) {
        try {
            List<JsonNode> events = new ArrayList<>();
            for (String line :
                    Files.exists(received) ? Files.readAllLines(received) : List.<String>of()) {
                JsonNode event = new ObjectMapper().readTree(line);
                if (event.path("event").asText().equals(name)
                        && event.path("uid").asInt(ALICE) == ALICE) {
                    events.add(event);
                }
            }
            return events;
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    private JsonNode await(String event) {
        Lab.await(() -> events(event).isEmpty() ? List.of("no " + event + " event") : List.of());
        return events(event).getFirst();
    }

    @Test
    void programsGetEachEventInOrder() throws IOException {
        program("20-write", "rwxr-xr-x", "cat >> " + received);
        program("30-open", "rwxr-xrwx", "echo '{\"event\":\"open\"}' >> " + received);
        program("40.bak", "rwxr-xr-x", "echo '{\"event\":\"backup\"}' >> " + received);
        String notify = "notify = ['" + directory + "']\n";
        lab.configure(notify);
        String hold =
                "run -d --gpus device=0 --gpu-time 1s --stop-signal KILL --name train plain sleep"
                        + " 1000";
        lab.as(ALICE, (Object[]) hold.split(" ")).run().ok();
        JsonNode granted = await("granted");
        assertEquals(ALICE, granted.path("uid").asInt());
        assertTrue(
                granted.path("gpus").path(0).asText().startsWith("GPU-5c1a0000"),
                granted::toString);
        lab.as(ALICE, "run", "--gpus", "device=0", "plain", "true").run();
        assertTrue(await("refused").path("reason").asText().contains("is held by"));
        assertEquals("train", await("overdue").path("container").asText());
        lab.configure(notify + "stop_overdue = true\n");
        assertEquals("train", await("stopped").path("container").asText());
        lab.awaitHolders(Map.of());
        await("released");
        assertTrue(events("open").isEmpty() && events("backup").isEmpty());
        assertTrue(log().contains("users other than root can write to " + directory + "/30-open"));
    }

    private static String log() {
        try {
            return Files.readString(lab.daemon().log());
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    /** An event names other users and their containers. */
    @Test
    void eventIsReadableByRootAlone() throws IOException {
        program("10-mode", "rwxr-xr-x", "stat -L -c %a:%u /proc/self/fd/0 >> " + received);
        lab.configure("notify = ['" + directory + "']\n");
        lab.as(ALICE, "run", "--rm", "--gpus", "1", "plain", "true").run().ok();
        Lab.await(() -> Files.exists(received) ? List.of() : List.of("no event"));
        for (String line : Files.readAllLines(received)) {
            assertEquals("600:0", line);
        }
    }

    @Test
    void slowProgramIsEndedAndNobodyWaitsForIt() throws IOException {
        program(
                "10-slow",
                "rwxr-xr-x",
                "echo '{\"event\":\"begun\"}' >> " + received + "; sleep 100");
        program("20-next", "rwxr-xr-x", "echo '{\"event\":\"next\"}' >> " + received);
        lab.configure("notify = ['" + directory + "']\n");
        for (int i = 0; i < 3; i++) {
            lab.as(BOB, "run", "--rm", "--gpus", "1", "plain", "true").run().ok();
        }
        await("begun");
        await("next");
        assertTrue(log().contains("does not end within 10000 ms"));
    }

    /** As one that starts a mail program in the background. */
    @Test
    void processThatAProgramLeavesBehindDelaysNoOther() throws IOException {
        program("10-leave", "rwxr-xr-x", "sleep 100 &");
        program("20-next", "rwxr-xr-x", "cat >> " + received);
        lab.configure("notify = ['" + directory + "']\n");
        String hold = "run --rm --gpus 1 plain true";
        lab.as(ALICE, (Object[]) hold.split(" ")).run().ok();
        await("granted");
        await("released");
        assertFalse(log().contains("10-leave does not end"), NotifyTest::log);
    }
}
