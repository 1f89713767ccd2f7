package jnvdocker.tests.bench;

import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.Directories;
import jnvdocker.tests.world.Lab;
import jnvdocker.tests.world.RuntimeInstallation;
import jnvdocker.tests.world.TestEngine;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Whether {@code docker restart} keeps a GPU that is cordoned and that somebody waits for, while
 * the real runtime takes so many seconds to delete a container of a bridge network; and how long a
 * stopped or removed container's GPU is not free yet, from the end of the command on.
 */
public final class KeptBench {
    private static final int RESTARTS = 20;
    private static final int STOPS = 10;

    /** Each a word of {@code sleep}. */
    private static final List<String> DELETIONS = List.of("0", "0.4", "2", "10");

    private static final String NETWORK = "kept";

    /** How a container gets its GPU: each has one of its own. */
    private enum Way {
        PLAIN("jnvdocker"),
        NAMED("docker", "--runtime=nvidia"),
        DEFAULT("docker"),
        CLIENT("jnvdocker");

        final String program;
        final List<String> options;

        Way(String program, String... options) {
            this.program = program;
            this.options = List.of(options);
        }

        String container() {
            return "way-" + ordinal();
        }
    }

    private final Lab lab;
    private final Path directory;
    private final int restarts;
    private final List<String> deletions;

    private KeptBench(Lab lab, Path directory, int restarts, List<String> deletions) {
        this.lab = lab;
        this.directory = directory;
        this.restarts = restarts;
        this.deletions = deletions;
    }

    /**
     * @param arguments how many restarts, and how many seconds deletions take
     */
    public static void main(String[] arguments) throws Exception {
        int restarts = arguments.length == 0 ? RESTARTS : Integer.parseInt(arguments[0]);
        List<String> deletions =
                arguments.length < 2 ? DELETIONS : List.of(arguments).subList(1, arguments.length);
        Path directory = Directories.make("kept");
        try {
            for (boolean plain : List.of(true, false)) {
                try (Lab lab = new Lab(TestEngine.Release.NEWEST)) {
                    new KeptBench(lab, directory, restarts, deletions).measure(plain);
                }
            }
        } finally {
            Directories.remove(directory);
        }
    }

    private void measure(boolean plain) throws Exception {
        Path real = directory.resolve("runc");
        delay(real, "0");
        Command.of("chmod", "755", directory, real).run().ok();
        Optional<RuntimeInstallation> runtime = Optional.empty();
        if (plain) {
            lab.engine().restart("--add-runtime=slow=" + real, "--default-runtime=slow");
        } else {
            runtime = Optional.of(RuntimeInstallation.of(lab, "--default", "--real", real));
        }
        lab.docker("network", "create", NETWORK).ok();
        try {
            List<Way> ways =
                    plain ? List.of(Way.PLAIN) : List.of(Way.NAMED, Way.DEFAULT, Way.CLIENT);
            for (String seconds : deletions) {
                delay(real, seconds);
                restart(ways, seconds);
            }
            delay(real, "0");
            ways.forEach(this::stop);
        } finally {
            lab.engine().removeContainers();
            lab.docker("network", "rm", NETWORK);
            runtime.ifPresent(RuntimeInstallation::close);
        }
    }

    private static void delay(Path real, String seconds) throws IOException {
        Path next = real.resolveSibling("next");
        Files.writeString(
                next,
                """
                #!/bin/sh
                case " $* " in *" delete "*) sleep %s;; esac
                exec runc "$@"
                """
                        .formatted(seconds));
        Command.of("chmod", "755", next).run().ok();
        Files.move(next, real, StandardCopyOption.REPLACE_EXISTING);
    }

    private void start(Way way) {
        List<Object> words = new ArrayList<>(List.of("run", "-d", "--name=" + way.container()));
        words.addAll(way.options);
        words.addAll(List.of("--network=" + NETWORK, "--gpus=device=" + way.ordinal()));
        words.addAll(List.of("--stop-signal=KILL", "plain", "sleep", "100000"));
        if (way.program.equals("docker")) {
            lab.docker(words.toArray()).ok();
        } else {
            lab.jnvdocker(words.toArray()).ok();
        }
    }

    private void restart(List<Way> ways, String seconds) throws Exception {
        ways.forEach(this::start);
        List<Process> waiting = new ArrayList<>();
        for (Way way : ways) {
            String gpus = "--gpus=device=" + way.ordinal();
            waiting.add(
                    lab.daemon()
                            .jnvdocker("gpu", "run", "--gpu-wait", gpus, "sleep", "1000")
                            .start());
        }
        Lab.await(() ->
                lab.registry().tickets() == ways.size() ? List.of() : List.of("too few wait"));
        ways.forEach(way -> lab.jnvdocker("gpu", "cordon", way.ordinal()));
        Map<Way, AtomicInteger> kept = new EnumMap<>(Way.class);
        ways.forEach(way -> kept.put(way, new AtomicInteger()));
        CompletableFuture.allOf(
                        ways.stream()
                                .map(way ->
                                        CompletableFuture.runAsync(
                                                () -> restart(way, kept.get(way)),
                                                Thread::startVirtualThread))
                                .toArray(CompletableFuture[]::new))
                .join();
        kept.forEach((way, times) ->
                System.out.printf(
                        "%-7s deleted in %4s s   kept %s of %d%n", way, seconds, times, restarts));
        for (Process each : waiting) {
            each.destroy();
            each.waitFor();
        }
        ways.forEach(way -> lab.jnvdocker("gpu", "uncordon", way.ordinal()));
        lab.clear();
    }

    private void restart(Way way, AtomicInteger kept) {
        for (int i = 0; i < restarts; i++) {
            boolean ok = lab.docker("restart", "-t", "0", way.container()).exitCode() == 0;
            if (ok && way.container().equals(lab.registry().holders().get(way.ordinal()))) {
                kept.incrementAndGet();
            }
        }
    }

    private void stop(Way way) {
        for (List<String> end : List.of(List.of("stop"), List.of("rm", "-f"))) {
            Samples samples = new Samples(STOPS);
            for (int i = 0; i < STOPS; i++) {
                start(way);
                List<Object> words = new ArrayList<>(end);
                words.add(way.container());
                lab.docker(words.toArray()).ok();
                long ended = System.nanoTime();
                while (lab.registry().holders().containsKey(way.ordinal())) {
                    Thread.onSpinWait();
                }
                samples.add(System.nanoTime() - ended);
                lab.engine().removeContainers();
            }
            System.out.printf("%-7s free after %-5s %s%n", way, String.join(" ", end), samples);
        }
    }
}
