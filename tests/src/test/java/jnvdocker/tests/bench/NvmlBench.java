package jnvdocker.tests.bench;

import jnvdocker.tests.world.DriverRoot;
import jnvdocker.tests.world.FakeNvml;
import jnvdocker.tests.world.TestDaemon;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;

/**
 * The cost of querying NVML about eight GPUs every second: the daemon's share of a core and its
 * memory, while {@code gpu ls --watch=1} runs, beside a daemon whose host has no NVML. Then the
 * time of a {@code gpu run} at both while a call of NVML for one of the GPUs does not return. The
 * library is that of tests/fake-nvml, which reads its file's status at every call. At last the
 * memory of the daemon that is watched so, while programs are run with GPUs one after another.
 */
public final class NvmlBench {
    private static final int ROUNDS = 10;
    private static final int GPUS = 8;
    private static final long WATCHED_MILLIS = 20_000;

    private NvmlBench() {}

    /**
     * @param arguments how many rounds, and how many programs at last; none if left out
     */
    public static void main(String[] arguments) throws Exception {
        int rounds = arguments.length == 0 ? ROUNDS : Integer.parseInt(arguments[0]);
        int programs = arguments.length < 2 ? 0 : Integer.parseInt(arguments[1]);
        try (Subject queried = new Subject("NVML queried");
                Subject has = new Subject("no NVML")) {
            List<Subject> both = List.of(queried, has);
            has.nvml.unload();
            for (Subject each : both) {
                each.watch();
            }
            Thread.sleep(10_000);
            for (int i = 0; i < rounds; i++) {
                for (Subject each : both) {
                    each.begin();
                }
                Thread.sleep(WATCHED_MILLIS);
                for (Subject each : both) {
                    each.end();
                }
            }
            both.forEach(Subject::sayShares);
            queried.nvml.add(queried.addresses.getFirst(), "hang nvmlDeviceGetTemperature");
            Thread.sleep(2000);
            for (int i = -3; i < 2 * rounds; i++) {
                for (Subject each : both) {
                    each.run(i >= 0);
                }
            }
            queried.sayRuns("one GPU's call hangs");
            has.sayRuns("no NVML");
            queried.sayMemory(programs);
        }
    }

    private static final class Subject implements AutoCloseable {
        private final String name;
        private final DriverRoot host = DriverRoot.make(DriverRoot.Release.DRIVER_535, GPUS);
        private final FakeNvml nvml = FakeNvml.of(host, "a100x8");
        private final TestDaemon daemon = new TestDaemon(host);
        private final List<String> addresses = new ArrayList<>();
        private final List<Double> shares = new ArrayList<>();
        private final Samples runs = new Samples(1000);
        private Process watch;
        private Duration before;
        private long began;

        Subject(String name) {
            this.name = name;
        }

        void watch() {
            daemon.jnvdocker("gpu", "ls", "--json")
                    .run()
                    .ok()
                    .json()
                    .findValuesAsText("pci_address")
                    .forEach(addresses::add);
            watch =
                    daemon.jnvdocker("gpu", "ls", "--watch=1", "--json")
                            .log(Path.of("/dev/null"))
                            .start();
        }

        void begin() {
            before = daemon.processorTime();
            began = System.nanoTime();
        }

        void end() {
            shares.add(
                    100.0
                            * daemon.processorTime().minus(before).toNanos()
                            / (System.nanoTime() - began));
        }

        private long residentKilobytes() {
            try {
                return Files.readAllLines(Path.of("/proc/" + daemon.pid().getAsLong() + "/status"))
                        .stream()
                        .filter(line -> line.startsWith("VmRSS:"))
                        .mapToLong(line -> Long.parseLong(line.replaceAll("\\D", "")))
                        .sum();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }

        void sayShares() {
            double[] sorted = shares.stream().mapToDouble(it -> it).sorted().toArray();
            System.out.printf(
                    Locale.ROOT,
                    "%-11s  %.2f %% of a core (%.2f to %.2f, n=%d), %.1f MB resident%n",
                    name,
                    sorted[sorted.length / 2],
                    Arrays.stream(sorted).min().orElse(0),
                    Arrays.stream(sorted).max().orElse(0),
                    sorted.length,
                    residentKilobytes() / 1e3);
        }

        void run(boolean counts) throws InterruptedException {
            long start = System.nanoTime();
            daemon.jnvdocker("gpu", "run", "--gpus", "1", "true").run().ok();
            if (counts) {
                runs.add(System.nanoTime() - start);
            }
            // The GPU is free again once the end has been seen.
            Thread.sleep(300);
        }

        void sayMemory(int programs) throws InterruptedException {
            for (int i = 0; i < programs; i++) {
                if (i % Math.max(1, programs / 10) == 0) {
                    System.out.printf(
                            Locale.ROOT,
                            "after %6d programs  %.1f MB resident%n",
                            i,
                            residentKilobytes() / 1e3);
                }
                run(false);
            }
        }

        void sayRuns(String when) {
            System.out.printf(Locale.ROOT, "gpu run, %-20s  %s%n", when, runs);
        }

        @Override
        public void close() {
            if (watch != null) {
                watch.destroyForcibly().onExit().join();
            }
            daemon.close();
            host.close();
        }
    }
}
