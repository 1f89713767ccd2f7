package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import jnvdocker.attack.Attack;
import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.Lab;
import jnvdocker.tests.world.SocketRelay;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

import java.io.IOException;
import java.net.UnixDomainSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Stream;

/** Containers that have ended and start again, by their user's command or by their policy. */
@Attack(
        by = "a busy machine, a stopped dockerd",
        what = "amid `docker restart`",
        result = "others wait, and the container has its GPU again")
@Attack(
        by = "an engine that starts",
        what = "finds the GPU of a container with a restart policy taken",
        result =
                "started when the GPU is free; not when the policy was removed or it was stopped"
                        + " by hand")
class ComebackTest extends WantedEngineTest {
    private static final String ALWAYS = "--restart=always";

    /** How long an engine is stuck in the middle of a restart. */
    private static final int PAUSE_MILLIS = 2_000;

    /** How an engine is delayed in the middle of a restart. */
    private enum Delay {
        /** It is late to mount what the container needs, and holds the container's lock. */
        BUSY,
        /** It is stopped altogether. */
        STOPPED
    }

    /**
     * A busy machine may delay an engine between the end of a container and its start. Rivals are
     * answered when the GPU's holder is known, and not before.
     */
    @ParameterizedTest
    @EnumSource
    void slowlyRestartedContainerKeepsItsGpu(Delay delay) throws Exception {
        lab.create("old", 0);
        lab.run("train", 0);
        lab.awaitHolders(Map.of(0, "train"));
        int dockerd = lab.registry().liveOf("train").orElseThrow().pid();
        CountDownLatch unmounted = new CountDownLatch(1);
        CountDownLatch over = new CountDownLatch(1);
        Runnable begin =
                () -> {
                    if (delay == Delay.STOPPED) {
                        signal("STOP", dockerd);
                    }
                    unmounted.countDown();
                    await(over);
                };
        String message = delay == Delay.STOPPED ? "HTTP/1.1" : "POST /VolumeDriver.Get";
        try (AutoCloseable _ = afterUnmount(message, begin)) {
            var restart = CompletableFuture.supplyAsync(() -> docker("restart", "train"));
            await(unmounted);
            var rivals =
                    Stream.of(
                                    lab.daemon().jnvdocker("gpu", "run", "--gpus=device=0", "true"),
                                    lab.gpuContainer("run", "newcomer", 0),
                                    lab.engine().docker("start", "old"))
                            .map(command -> CompletableFuture.supplyAsync(command::run))
                            .toList();
            try {
                Thread.sleep(PAUSE_MILLIS);
                assertEquals(Map.of(0, "train"), lab.registry().holders());
                rivals.forEach(rival ->
                        assertFalse(rival.isDone(), () -> "has not waited: " + rival.join()));
                Lab.assertMatches(
                        "(?s).*HELD .* train .* ended, unless docker starts it again.*",
                        lab.jnvdocker("gpu", "ls").ok().out());
            } finally {
                if (delay == Delay.STOPPED) {
                    signal("CONT", dockerd);
                }
                over.countDown();
            }
            restart.join().ok();
            rivals.forEach(rival ->
                    Lab.assertMatches(
                            "(?s).*GPU 0 .* is held by .* container train.*", rival.join().err()));
        }
        lab.awaitHolders(Map.of(0, "train"));
    }

    /** Distinguishes the ends that docker considers final from those that a user requested. */
    @Test
    void containerThatWasRefusedAtTheEnginesStartIsStartedWhenItsGpuIsFree() throws Exception {
        lab.run("stopped", 1, ALWAYS);
        lab.run("train", 2, ALWAYS);
        lab.run("updated", 3, ALWAYS);
        docker("stop", "stopped").ok();
        lab.awaitHolders(Map.of(2, "train", 3, "updated"));
        lab.engine().stop();
        Process rival =
                lab.daemon()
                        .jnvdocker(
                                "gpu", "run", "--gpu-wait", "--gpus=device=1,2,3", "sleep", "1000")
                        .start();
        try {
            for (String name : List.of("train", "updated")) {
                releaseWhileItsEngineIsDown(name);
            }
            awaitHolder("?");
            lab.engine().start();
            for (String name : List.of("stopped", "train", "updated")) {
                Lab.assertMatches(
                        "(?s)exited .*GPU \\d \\(GPU-5c1a\\w{4}\\) is held by .*",
                        lab.inspect(name, "{{.State.Status}} {{.State.Error}}"));
            }
            Lab.assertMatches(
                    "(?s).*Container train was refused this GPU when docker was to start it .*",
                    lab.jnvdocker("gpu", "why", "2").ok().out());
            Command.Result doctor = lab.jnvdocker("gpu", "doctor");
            Lab.assertMatches(
                    "(?s).*container train is down since docker was to start it .*GPU 2 .* is held"
                            + " by .*docker update --restart=no train.*",
                    doctor.out());
            assertFalse(doctor.out().contains("container stopped is down"), doctor::toString);
            docker("update", "--restart=no", "updated").ok();
            lab.daemon().kill();
            lab.startDaemon();
        } finally {
            rival.destroyForcibly().waitFor();
        }
        awaitHolder("train");
        Lab.await(() -> {
            Command.Result doctor = lab.jnvdocker("gpu", "doctor");
            return doctor.out().contains(" is down since ") ? List.of(doctor.out()) : List.of();
        });
        assertEquals("exited", lab.inspect("updated", "{{.State.Status}}"));
        assertEquals("exited", lab.inspect("stopped", "{{.State.Status}}"));
        lab.awaitHolders(Map.of(2, "train"));
    }

    /** The kinds of absence of a GPU. */
    private enum Away {
        NODE(List.of("dev/nvidia1")),
        DRIVER(List.of("proc/driver/nvidia/gpus")),
        BOTH(List.of("dev/nvidia1", "proc/driver/nvidia/gpus"));

        private final List<String> files;

        Away(List<String> files) {
            this.files = files;
        }

        void move(boolean there) throws IOException {
            for (String file : files) {
                Path shown = lab.host().directory().resolve(file);
                if (Files.isDirectory(shown)) {
                    try (var gpus = Files.list(shown)) {
                        shown = gpus.sorted().skip(1).findFirst().orElseThrow();
                    }
                }
                Path aside = lab.host().directory().resolve("aside-" + file.replace('/', '-'));
                if (there) {
                    Files.move(aside, Path.of(Files.readString(Path.of(aside + ".name"))));
                } else {
                    Files.writeString(Path.of(aside + ".name"), shown.toString());
                    Files.move(shown, aside);
                }
            }
        }
    }

    /** As of a GPU that falls off the bus, is bound to another driver, or is reset. */
    @ParameterizedTest
    @CsvSource({"always, NODE", "unless-stopped, DRIVER", "on-failure, BOTH"})
    void containerWhoseGpuWentAwayIsStartedWhenItIsBack(String policy, Away away) throws Exception {
        lab.run("train", 1, "--restart=" + policy);
        String pid = lab.inspect("train", "{{.State.Pid}}").strip();
        away.move(false);
        try {
            Command.of("kill", "-KILL", pid).run().ok();
            Lab.await(() -> {
                String state = lab.inspect("train", "{{.State.Status}} {{.State.Error}}");
                return state.matches("(?s)exited .*(nvidia1|is no longer on this host).*")
                        ? List.of()
                        : List.of(state);
            });
            Lab.await(() -> {
                Command.Result doctor = lab.jnvdocker("gpu", "doctor");
                return doctor.out().contains("container train is down since docker was to start")
                                || doctor.out().contains("container train did not come back: ")
                        ? List.of()
                        : List.of(doctor.out());
            });
        } finally {
            away.move(true);
        }
        Lab.await(() -> {
            String state = lab.inspect("train", "{{.State.Status}} {{.State.Error}}");
            return state.startsWith("running") ? List.of() : List.of(state);
        });
        lab.awaitHolders(Map.of(1, "train"));
    }

    /** The engine may start the container again, so nothing but a user ends its lease. */
    private static void releaseWhileItsEngineIsDown(String name) {
        Lab.await(() -> {
            Command.Result refused = lab.jnvdocker("gpu", "release", name);
            assertEquals(125, refused.exitCode(), refused::toString);
            return refused.err().contains("but its engine does not answer, and may start it again;")
                    ? List.of()
                    : List.of(refused.err());
        });
        lab.jnvdocker("gpu", "release", "--force", "--reason=maintenance", name).ok();
    }

    private static void awaitHolder(String name) {
        Lab.await(() -> {
            Map<Integer, String> holders = lab.registry().holders();
            return name.equals(holders.get(2)) ? List.of() : List.of("holders are " + holders);
        });
    }

    private static void await(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    private static void signal(String name, int pid) {
        Command.of("kill", "-" + name, "" + pid).run().ok();
    }

    /**
     * Runs an action after docker's first request to unmount a claim, before docker or the daemon
     * receives the next message that begins with {@code message}.
     */
    private static AutoCloseable afterUnmount(String message, Runnable what) throws IOException {
        Path plugin = lab.daemon().pluginSocket();
        Path moved = lab.daemon().state().resolve("plugin.sock");
        Files.move(plugin, moved);
        AtomicBoolean requested = new AtomicBoolean();
        AtomicBoolean done = new AtomicBoolean();
        SocketRelay.Tap tap =
                piece -> {
                    String text = piece.text();
                    if (text.contains("Unmount") && text.contains("jnvdocker_claim_")) {
                        requested.set(true);
                    } else if (text.startsWith(message)
                            && requested.get()
                            && done.compareAndSet(false, true)) {
                        what.run();
                    }
                    piece.deliver();
                };
        SocketRelay relay = new SocketRelay(UnixDomainSocketAddress.of(plugin), moved, tap);
        return () -> {
            relay.close();
            Files.move(moved, plugin);
        };
    }
}
