package jnvdocker.tests.world;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;
import java.util.stream.Collectors;

/**
 * A host with GPUs, its engine and its daemon, and what must be true of them: each GPU has one
 * holder, the registry knows it, and it knows of nobody else.
 */
public final class Lab implements AutoCloseable {
    /** In which everything has become true that is going to. */
    private static final long LIMIT_NANOS = 60_000_000_000L;

    private final TestEngine engine;
    private final DriverRoot host;
    private final TestDaemon daemon;
    private final Registry registry;

    /** The engine has the image {@code plain}, which asks for nothing. */
    public Lab(TestEngine.Release release) {
        this(release, 4);
    }

    /** The host has that many GPUs. */
    public Lab(TestEngine.Release release, int gpus) {
        engine = new TestEngine(release);
        host = DriverRoot.make(DriverRoot.Release.DRIVER_535, gpus);
        daemon = new TestDaemon(engine, host);
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

    /** Returns when it serves. */
    public void startDaemon() {
        daemon.jnvdocker("gpu", "ls").run().ok();
    }

    /** Docker as its users type it, and as it ended. */
    public Command.Result docker(Object... arguments) {
        return engine.docker(arguments).run();
    }

    /** {@code jnvdocker} as its users type it, and as it ended. */
    public Command.Result jnvdocker(Object... arguments) {
        return daemon.jnvdocker(arguments).run();
    }

    /** The same as a user types it who has become root: leases are that user's. */
    public Command as(int user, Object... arguments) {
        String script = "{ echo $SUDO_UID > /proc/self/loginuid; } 2> /dev/null; exec \"$@\"";
        return daemon.jnvdocker(arguments)
                .after("bash", "-c", script, "bash")
                .with("SUDO_UID", user);
    }

    /** What asks for a container with one GPU that lasts until it is ended, which is at once. */
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

    /** Runs such a container, and waits until the registry has its name. */
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
     * Waits until the registry is true, and says this of who has GPUs.
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

    /** Waits until the registry is true. */
    public void awaitTruth() {
        await(this::untruths);
    }

    /** Waits until nothing is wrong. */
    public static void await(Supplier<List<String>> wrongs) {
        long deadline = System.nanoTime() + LIMIT_NANOS;
        while (true) {
            List<String> wrong = wrongs.get();
            if (wrong.isEmpty()) {
                return;
            }
            if (System.nanoTime() > deadline) {
                throw new AssertionError("still so: " + String.join("; ", wrong));
            }
            LockSupport.parkNanos(20_000_000);
        }
    }

    /**
     * @throws AssertionError at once if a GPU has two holders: that may not be so for a moment
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

    /** A claim is known, has a volume and a folder, as long as it has a container or client. */
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
        Map.of("claims", registry.claims(), "folders", folders(), "volumes", volumes())
                .forEach((what, found) -> {
                    found.removeIf(claim -> reserved.contains(claim) && !used.contains(claim));
                    if (!found.equals(used)) {
                        wrong.add(what + " should be " + used + " and are " + found);
                    }
                });
        return wrong;
    }

    /** The claims that have a folder. */
    public Set<String> folders() {
        try (var entries = Files.list(daemon.state().resolve("claims"))) {
            return entries.map(entry -> entry.getFileName().toString())
                    .collect(Collectors.toCollection(TreeSet::new));
        } catch (NoSuchFileException e) {
            return new TreeSet<>();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** The claims that docker has a volume of. */
    public Set<String> volumes() {
        return Container.claimsOf(docker("volume", "ls", "-q").ok().out().lines());
    }

    private List<Container> containers() {
        while (true) {
            List<Object> words = new ArrayList<>(List.of("inspect", "--format", Container.FORMAT));
            docker("ps", "-aq").ok().out().lines().forEach(words::add);
            if (words.size() == 3) {
                return List.of();
            }
            Command.Result inspected = docker(words.toArray());
            // One that was removed in between: all once more.
            if (inspected.exitCode() == 0) {
                return inspected.out().lines().map(Container::parse).toList();
            }
        }
    }

    /** What docker says of a container. */
    public String inspect(String container, String format) {
        return docker("inspect", "--format", format, container).ok().out().strip();
    }

    /** The daemon's log, of all its starts. */
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

    @Override
    public void close() {
        daemon.close();
        engine.close();
        host.close();
    }
}
