package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;

import jnvdocker.attack.Attack;
import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.Directories;
import jnvdocker.tests.world.EachHolder;
import jnvdocker.tests.world.EachHolder.Kind;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;

/**
 * The life of a lease, for holders of every kind side by side: each keeps its GPU against all
 * others whatever happens to the daemon, its state and the providers, until its last process has
 * ended, which is known whichever of them was there to see it.
 */
@Tag("docker")
@Tag("root")
@Attack(
        by = "root, by mistake",
        what = "restores a copy of registry.db while containers run",
        result = "what runs has its lease again; an older claim is refused")
class LifeCycleTest {
    private static final String BOOT_ID = "proc/sys/kernel/random/boot_id";

    private static EachHolder holders;

    @BeforeAll
    static void open() throws IOException {
        holders = new EachHolder();
    }

    @AfterAll
    static void close() {
        holders.close();
    }

    @AfterEach
    void nothingIsLeft() {
        holders.clear();
    }

    /** Goes away and comes back, with or without the state. */
    private enum Event {
        PROVIDERS_ARE_KILLED {
            @Override
            void begin() {
                holders.killProviders();
            }

            @Override
            void end() {
                holders.startProviders();
            }
        },
        ALL_ARE_KILLED {
            @Override
            void begin() {
                holders.lab().daemon().kill();
                holders.killProviders();
            }

            @Override
            void end() {
                holders.lab().startDaemon();
                holders.startProviders();
            }
        },
        REGISTRY_IS_DAMAGED {
            @Override
            void begin() throws IOException {
                holders.lab().daemon().stop();
                Path registry = holders.lab().daemon().state().resolve("registry.db");
                Files.writeString(registry, "garbage".repeat(10_000));
            }

            @Override
            void end() throws IOException {
                super.end();
                Path state = holders.lab().daemon().state();
                try (Stream<Path> files = Files.list(state)) {
                    assertTrue(files.anyMatch(it -> it.toString().contains(".db.damaged-")));
                }
            }
        },
        /** A copy is put back that was made before any of them held a GPU. */
        REGISTRY_IS_ROLLED_BACK {
            private final List<Path> copy = new ArrayList<>();
            private Path directory;

            @Override
            void prepare() throws IOException {
                directory = Directories.make("copy");
                for (Path part : parts()) {
                    copy.add(Files.copy(part, directory.resolve(part.getFileName())));
                }
            }

            @Override
            void begin() throws IOException {
                Path state = holders.lab().daemon().state();
                holders.lab().daemon().kill();
                for (Path part : parts()) {
                    Files.delete(part);
                }
                for (Path part : copy) {
                    Files.copy(part, state.resolve(part.getFileName()));
                }
            }
        };

        /** Before the holders start. */
        void prepare() throws IOException {}

        abstract void begin() throws IOException;

        void end() throws IOException {
            holders.lab().startDaemon();
        }
    }

    private static List<Path> parts() throws IOException {
        try (Stream<Path> files = Files.list(holders.lab().daemon().state())) {
            return files.filter(it -> it.getFileName().toString().startsWith("registry.db"))
                    .toList();
        }
    }

    @ParameterizedTest
    @EnumSource
    void gpuIsItsHoldersUntilThatHasEnded(Event event) throws IOException {
        event.prepare();
        Instant begun = Instant.now().minusSeconds(1);
        holders.start();
        Instant started = Instant.now();
        event.begin();
        event.end();
        // Immediately, before anything has been reported: an unknown holder is one, too.
        for (Kind kind : Kind.values()) {
            Command.Result refused = holders.program(kind.gpu()).run();
            assertEquals(125, refused.exitCode(), () -> kind + ": " + refused);
        }
        holders.awaitLeases(EachHolder.all());
        Instant age = age();
        assertTrue(age.isAfter(begun) && age.isBefore(started), age::toString);
        event.begin();
        holders.killAll();
        event.end();
        holders.awaitLeases(Map.of());
        holders.program(0, 1, 2, 3, 4, 5, 6).run().ok();
    }

    /** That of the container, whose lease may be younger: the daemon has made it from what runs. */
    private static Instant age() {
        JsonNode lease = holders.lab().lease(Kind.RUN.toString());
        return Instant.parse(lease.path("container_since").asText());
    }

    /** Nothing of the holders has outlived the host, and only the registry tells of them. */
    @Test
    void rebootEndsEachLease() {
        holders.start();
        String boot = holders.lab().host().read(BOOT_ID);
        holders.lab().daemon().stop();
        holders.killProviders();
        holders.killAll();
        holders.lab().host().write(BOOT_ID, UUID.randomUUID() + "\n");
        try {
            holders.program(0, 1, 2, 3, 4, 5, 6).run().ok();
            for (Kind kind : List.of(Kind.RUN, Kind.RUNTIME, Kind.PODMAN, Kind.MESOS, Kind.SHARE)) {
                assertEquals(
                        "the host was restarted",
                        holders.lab().registry().ends(kind.toString()).getFirst(),
                        kind::toString);
            }
        } finally {
            holders.lab().daemon().stop();
            holders.lab().host().write(BOOT_ID, boot);
            holders.lab().startDaemon();
            holders.startProviders();
        }
    }

    /** Every kind of client names every kind of holder; the one that waits is served at its end. */
    @Test
    void othersAreRefusedByNameOrServedAtTheEnd() {
        holders.start();
        List<CompletableFuture<Command.Result>> waiting =
                Stream.of(Kind.values())
                        .filter(kind -> kind != Kind.BESIDE)
                        .map(kind -> waits(kind.gpu()))
                        .toList();
        for (Kind kind : Kind.values()) {
            for (Command request : holders.requests(kind.gpu())) {
                Command.Result refused = request.run();
                assertNotEquals(0, refused.exitCode(), () -> kind + ": " + refused);
                String name = kind == Kind.BESIDE ? Kind.RUN.shown() : kind.shown();
                assertTrue(
                        refused.err().contains("GPU " + kind.gpu() + " (GPU-")
                                && refused.err().contains(" " + name),
                        () -> kind + ": " + refused);
            }
        }
        holders.killAll();
        waiting.forEach(each -> each.join().ok());
    }

    private static CompletableFuture<Command.Result> waits(int gpu) {
        Command command =
                holders.lab()
                        .daemon()
                        .jnvdocker("gpu", "run", "--gpu-wait", "--gpus=device=" + gpu, "true");
        return CompletableFuture.supplyAsync(command::run, Thread::startVirtualThread);
    }

    /** By force alone while it runs: by then its GPU is free, or used without a lease. */
    @Test
    void leaseOfARunningHolderIsReleasedByForceAlone() {
        holders.start();
        for (Kind kind : Kind.values()) {
            String lease =
                    holders.lab().registry().live().stream()
                            .filter(it -> it.minors().containsKey(kind.gpu()))
                            .findFirst()
                            .orElseThrow()
                            .claim();
            Command.Result refused = holders.lab().jnvdocker("gpu", "release", lease);
            assertEquals(125, refused.exitCode(), () -> kind + ": " + refused);
            String warned =
                    holders.lab()
                            .jnvdocker("gpu", "release", lease, "--force", "--reason", "to see")
                            .ok()
                            .err();
            assertTrue(warned.contains(" runs"), () -> kind + ": " + warned);
        }
        assertEquals(Map.of(), holders.leases());
    }
}
