package jnvdocker.tests.world;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;
import java.util.stream.Collectors;

/**
 * A host with GPUs, its engine and its daemon, and their invariants: each GPU has one holder, the
 * registry knows it, and it knows no other holder.
 */
public final class Lab implements AutoCloseable {
    /** The time within which the invariants must hold. */
    private static final long LIMIT_NANOS = 60_000_000_000L;

    /**
     * Between two looks at what is waited for. A look that is a program takes longer, and so does
     * the pause after that look: programs one after the other would keep a processor busy.
     */
    private static final long PAUSE_NANOS = 20_000_000;

    private static final long LONG_PAUSE_NANOS = 200_000_000;

    private final TestEngine engine;
    private final DriverRoot host;
    private final TestDaemon daemon;
    private final Registry registry;

    /** A lab with four GPUs, whose engine has the image {@code plain}, which requests no GPU. */
    public Lab(TestEngine.Release release) {
        this(release, 4);
    }

    /** A lab with that many GPUs. */
    public Lab(TestEngine.Release release, int gpus) {
        this(release, DriverRoot.make(DriverRoot.Release.DRIVER_535, gpus));
    }

    /** A lab on that host, which it closes. */
    public Lab(TestEngine.Release release, DriverRoot host) {
        this(new TestEngine(release), host);
    }

    /** A lab with that engine on that host, which it closes. */
    public Lab(TestEngine engine, DriverRoot host) {
        this(engine, host, Project.tree());
    }

    /** The same with client and daemon of that tree. */
    public Lab(TestEngine engine, DriverRoot host, Path tree) {
        this.engine = engine;
        this.host = host;
        daemon = new TestDaemon(engine, host, tree);
        registry = new Registry(daemon);
        engine.image("plain", "--small");
        startDaemon();
    }

    public TestEngine engine() {
        return engine;
    }

    public DriverRoot host() {
        return host;
    }

    public TestDaemon daemon() {
        return daemon;
    }

    public Registry registry() {
        return registry;
    }

    /** Returns once the daemon serves. */
    public void startDaemon() {
        daemon.jnvdocker("gpu", "ls").run().ok();
    }

    /** Has the daemon follow this configuration. */
    public void configure(String toml) {
        daemon.config(toml);
        daemon.jnvdocker("gpu", "reload").run().ok();
    }

    /** Runs docker as its users type it. */
    public Command.Result docker(Object... arguments) {
        return engine.docker(arguments).run();
    }

    /** Runs {@code jnvdocker} as its users type it. */
    public Command.Result jnvdocker(Object... arguments) {
        return daemon.jnvdocker(arguments).run();
    }

    /** Returns the live lease of a container, as {@code gpu leases --json} prints it. */
    public JsonNode lease(String container) {
        for (JsonNode lease : jnvdocker("gpu", "leases", "--json").json()) {
            if (lease.path("container_name").asText().equals(container)) {
                return lease;
            }
        }
        throw new AssertionError(container + " has no lease");
    }

    /** Returns how long the lease of a container may last; empty if its time is not limited. */
    public Optional<Duration> timeOf(String container) {
        JsonNode lease = lease(container);
        Instant since = Instant.parse(lease.path("since").asText());
        return Optional.of(lease.path("due"))
                .filter(due -> !due.isNull())
                .map(due -> Duration.between(since, Instant.parse(due.asText())));
    }

    /** Runs a command as a user that has become root by sudo: leases belong to that user. */
    public Command as(int user, Object... arguments) {
        String script = "{ echo $SUDO_UID > /proc/self/loginuid; } 2> /dev/null; exec \"$@\"";
        return daemon.jnvdocker(arguments)
                .after("bash", "-c", script, "bash")
                .with("SUDO_UID", user);
    }

    /**
     * A command for a container with one GPU that runs until it is ended, and then ends
     * immediately.
     */
    public Command gpuContainer(String verb, String name, int gpu, Object... options) {
        List<Object> words = new ArrayList<>(List.of(verb));
        if (verb.equals("run")) {
            words.add("-d");
        }
        words.addAll(List.of("--name", name, "--gpus", "device=" + gpu, "--stop-signal", "KILL"));
        words.addAll(Arrays.asList(options));
        words.addAll(List.of("plain", "sleep", "1000"));
        return daemon.jnvdocker(words.toArray());
    }

    /** Runs such a container, and waits until the registry knows its name. */
    public void run(String name, int gpu, Object... options) {
        gpuContainer("run", name, gpu, options).run().ok();
        await(() ->
                registry.liveOf(name).isPresent() ? List.of() : List.of(name + " has no lease"));
    }

    /** Creates such a container. */
    public void create(String name, int gpu, Object... options) {
        gpuContainer("create", name, gpu, options).run().ok();
    }

    /**
     * Waits until the registry is true and has these holders.
     *
     * @param holders names of containers, by the indices of GPUs
     */
    public void awaitHolders(Map<Integer, String> holders) {
        await(() -> {
            List<String> wrong = new ArrayList<>();
            Map<Integer, String> now = registry.holders();
            if (!now.equals(holders)) {
                wrong.add("holders should be " + holders + " and are " + now);
            }
            return wrong.isEmpty() ? untruths() : wrong;
        });
    }

    /** Waits until GPUs have these holders and no others; {@code a and b} have one together. */
    public void awaitSharers(Map<Integer, String> holders) {
        await(() -> {
            assertEquals(List.of(), registry.heldTwice());
            Map<Integer, String> now = registry.holders();
            return now.equals(holders) ? List.of() : List.of(now + " instead of " + holders);
        });
    }

    /**
     * A user's command for a container that runs until it is ended.
     *
     * @param gpus as of {@code --gpus}
     */
    public Command startAs(int user, String name, String gpus, String... options) {
        List<Object> words = new ArrayList<>(List.of("run", "-d", "--name", name));
        words.addAll(List.of("--stop-signal", "KILL", "--gpus", gpus));
        words.addAll(List.of(options));
        words.addAll(List.of("plain", "sleep", "1000"));
        return as(user, words.toArray());
    }

    /** Asserts that a command is refused with words that the expression matches. */
    public static void assertRefused(String why, Command command) {
        Command.Result refused = command.run();
        assertEquals(125, refused.exitCode(), refused::toString);
        assertTrue(refused.err().matches("(?s).*" + why + ".*"), refused::toString);
    }

    /** Asserts that the whole text matches the expression. */
    public static void assertMatches(String pattern, String text) {
        assertTrue(text.matches(pattern), () -> text + "--- is not like\n" + pattern);
    }

    /** Waits until the registry is true. */
    public void awaitTruth() {
        await(this::untruths);
    }

    /** Waits until the list is empty. */
    public static void await(Supplier<List<String>> wrongs) {
        long deadline = System.nanoTime() + LIMIT_NANOS;
        while (true) {
            long begun = System.nanoTime();
            List<String> wrong = wrongs.get();
            if (wrong.isEmpty()) {
                return;
            }
            long now = System.nanoTime();
            if (now > deadline) {
                throw new AssertionError("still so: " + String.join("; ", wrong));
            }
            LockSupport.parkNanos(Math.clamp(2 * (now - begun), PAUSE_NANOS, LONG_PAUSE_NANOS));
        }
    }

    /**
     * @throws AssertionError at once if a GPU has two holders, which must not happen even for a
     *     moment
     */
    private List<String> untruths() {
        List<String> twice = registry.heldTwice();
        if (!twice.isEmpty()) {
            throw new AssertionError("in two leases: " + twice);
        }
        List<Container> containers = containers();
        List<Registry.Lease> live = registry.live();
        List<String> wrong = new ArrayList<>();
        for (Container container : containers) {
            if (container.runs() && container.isClaimed()) {
                wrong.addAll(container.differences(live));
            }
        }
        for (Registry.Lease lease : live) {
            boolean justified =
                    lease.reservation()
                            ? ProcessHandle.of(lease.pid()).isPresent()
                            : containers.stream().anyMatch(container -> container.isOf(lease));
            if (!justified) {
                wrong.add("nothing runs of " + lease);
            }
        }
        wrong.addAll(remains(containers, live));
        return wrong;
    }

    /**
     * A claim must be known and have a volume and a directory, as long as it has a container or
     * client.
     */
    private List<String> remains(List<Container> containers, List<Registry.Lease> live) {
        Set<String> used =
                containers.stream()
                        .flatMap(container -> container.claims().stream())
                        .collect(Collectors.toCollection(TreeSet::new));
        Set<String> reserved =
                live.stream()
                        .filter(Registry.Lease::reservation)
                        .map(Registry.Lease::claim)
                        .collect(Collectors.toSet());
        List<String> wrong = new ArrayList<>();
        Map.of("claims", registry.claims(), "directories", directories(), "volumes", volumes())
                .forEach((what, found) -> {
                    found.removeIf(claim -> reserved.contains(claim) && !used.contains(claim));
                    if (!found.equals(used)) {
                        wrong.add(what + " should be " + used + " and are " + found);
                    }
                });
        return wrong;
    }

    /** The claims that have a directory. */
    public Set<String> directories() {
        try (var entries = Files.list(daemon.state().resolve("claims"))) {
            return entries.map(entry -> entry.getFileName().toString())
                    .collect(Collectors.toCollection(TreeSet::new));
        } catch (NoSuchFileException e) {
            return new TreeSet<>();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** The claims that have a volume in docker. */
    public Set<String> volumes() {
        return Container.claimsOf(
                engine.query("/volumes").path("Volumes").findValuesAsText("Name").stream());
    }

    private List<Container> containers() {
        List<Container> containers = new ArrayList<>();
        for (JsonNode listed : engine.query("/containers/json?all=1")) {
            JsonNode found = engine.query("/containers/" + listed.path("Id").asText() + "/json");
            // Else it was removed meanwhile.
            if (!found.isMissingNode()) {
                containers.add(Container.of(found));
            }
        }
        return containers;
    }

    /** Docker's description of a container. */
    public String inspect(String container, String format) {
        return docker("inspect", "--format", format, container).ok().out().strip();
    }

    /** The daemon's log of all its runs. */
    public String log() {
        try {
            return Files.readString(daemon.log());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Removes all containers, and waits until nothing is left of their claims. */
    public void clear() {
        engine.removeContainers();
        awaitHolders(Map.of());
    }

    /** {@code hold_after_stop} keeps nothing of what the containers of earlier tests have had. */
    public void keepNothing() {
        jnvdocker("gpu", "run", "--gpus=all", "true").ok();
    }

    @Override
    public void close() {
        daemon.close();
        engine.close();
        host.close();
    }
}
