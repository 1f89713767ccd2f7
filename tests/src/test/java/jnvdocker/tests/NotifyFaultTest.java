package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;

import jnvdocker.tests.world.CProgram;
import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.Directories;
import jnvdocker.tests.world.DriverRoot;
import jnvdocker.tests.world.FakeNvml;
import jnvdocker.tests.world.Lab;
import jnvdocker.tests.world.TestDaemon;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Predicate;

/** Programs of an administrator's learn of the troubles of a GPU while its holder runs. */
@Tag("root")
@Tag("tree")
class NotifyFaultTest {
    private final List<Process> programs = new ArrayList<>();
    private DriverRoot host;
    private FakeNvml nvml;
    private Path directory;
    private Path received;
    private TestDaemon daemon;

    @BeforeEach
    void open() throws IOException {
        host = DriverRoot.make(DriverRoot.Release.DRIVER_535, 2);
        nvml = FakeNvml.of(host, "a100x8");
        directory = Files.createDirectory(Path.of("/root/notify-" + System.nanoTime()));
        received = directory.resolve("received.txt");
        Path program = directory.resolve("10-write");
        Files.writeString(program, "#!/bin/sh\ncat >> " + received + "\n");
        Files.setPosixFilePermissions(program, PosixFilePermissions.fromString("rwxr-xr-x"));
        daemon = new TestDaemon(host);
        daemon.config("notify = ['" + directory + "']\n");
    }

    @AfterEach
    void close() {
        programs.forEach(Process::destroyForcibly);
        daemon.close();
        host.close();
        Directories.remove(directory);
    }

    private Process start(Command command) {
        Process process = command.start();
        programs.add(process);
        return process;
    }

    private Optional<JsonNode> event(String name, Predicate<JsonNode> which) {
        try {
            for (String line :
                    Files.exists(received) ? Files.readAllLines(received) : List.<String>of()) {
                JsonNode event = new ObjectMapper().readTree(line);
                if (event.path("event").asText().equals(name) && which.test(event)) {
                    return Optional.of(event);
                }
            }
            return Optional.empty();
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    private JsonNode await(String name, Predicate<JsonNode> which) {
        Lab.await(() ->
                event(name, which).isPresent() ? List.of() : List.of("no " + name + " event"));
        return event(name, which).orElseThrow();
    }

    @Test
    void faultAndUseOfAHeldGpuAreEventsWhileItsHolderRuns() throws Exception {
        Path holdopen = host.directory().resolve("holdopen");
        CProgram.put("holdopen", holdopen);
        Path node = host.directory().resolve("dev/nvidia0");
        Process holder =
                start(daemon.jnvdocker("gpu", "run", "--gpus", "device=0", "--", "sleep", "1000"));
        JsonNode granted = await("granted", _ -> true);
        assertEquals(holder.pid(), granted.path("pid").asLong());
        assertEquals("sleep", granted.path("program").asText());
        Process stranger = start(Command.of(holdopen, node));
        JsonNode used = await("unmanaged", event -> event.path("pid").asLong() == stranger.pid());
        assertEquals("holdopen", used.path("program").asText());
        assertEquals("root", used.path("user").asText());
        assertTrue(
                used.path("message").asText().contains(", held by root's process sleep (pid "),
                used::toString);
        // Until a server listens.
        Lab.await(() -> {
            nvml.add("0000:07:00.0", "xid 95");
            LockSupport.parkNanos(500_000_000);
            return daemon.jnvdocker("gpu", "ls").run().out().contains("Xid 95")
                    ? List.of()
                    : List.of("it has no fault");
        });
        long found = System.nanoTime();
        JsonNode sick = await("sick", _ -> true);
        // Scans are half a minute apart.
        assertTrue(System.nanoTime() - found < 15_000_000_000L, "not at once");
        assertEquals(holder.pid(), sick.path("pid").asLong());
        assertEquals("sleep", sick.path("program").asText());
        assertTrue(
                sick.path("message")
                        .asText()
                        .contains(
                                " of root's process sleep (pid "
                                        + holder.pid()
                                        + ") is sick: Xid 95"),
                sick::toString);
        assertTrue(holder.isAlive());
    }
}
