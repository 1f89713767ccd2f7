package jnvdocker.tests.bench;

import jnvdocker.tests.world.DriverRoot;
import jnvdocker.tests.world.TestDaemon;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * The cost of waiting clients: the daemon's share of a core, and the time of a {@code gpu run} on a
 * free GPU, of {@code gpu queue}, and from a GPU's release to its next holder, with no waiting
 * clients and with many.
 */
public final class WaiterBench {
    private static final int MANY = 200;
    private static final int GPUS = 8;
    private static final int ROUNDS = 20;
    private static final long WATCHED_NANOS = 10_000_000_000L;

    private WaiterBench() {}

    public static void main(String[] arguments) throws Exception {
        int many = arguments.length == 0 ? MANY : Integer.parseInt(arguments[0]);
        try (DriverRoot host = DriverRoot.make(DriverRoot.Release.DRIVER_535, GPUS);
                TestDaemon daemon = new TestDaemon(host)) {
            Clients clients = new Clients(daemon);
            try {
                daemon.jnvdocker("gpu", "ls").run().ok();
                Process holder = clients.start(1001, "device=0", "sleep", "100000");
                clients.awaitHeld();
                measure("nobody waits", daemon, clients);
                long start = System.nanoTime();
                for (int i = 0; i < many; i++) {
                    clients.waits(2000 + i % 50);
                }
                clients.awaitWaiting(many);
                say("all %d wait after %.1f s", many, (System.nanoTime() - start) / 1e9);
                Thread.sleep(10_000);
                measure(many + " wait", daemon, clients);
                int before = clients.waiting();
                start = System.nanoTime();
                holder.destroyForcibly().waitFor();
                while (clients.running() == 0) {
                    Thread.sleep(1);
                }
                say(
                        "of %d the first has the GPU %.0f ms after its holder's end",
                        before, (System.nanoTime() - start) / 1e6);
            } finally {
                clients.end();
            }
        }
    }

    private static void measure(String when, TestDaemon daemon, Clients clients) throws Exception {
        Samples runs = new Samples(ROUNDS);
        Samples queues = new Samples(ROUNDS);
        for (int i = -3; i < ROUNDS; i++) {
            long start = System.nanoTime();
            daemon.jnvdocker("gpu", "run", "--gpus", "device=5", "true").run().ok();
            long between = System.nanoTime();
            daemon.jnvdocker("gpu", "queue", "--json").log(Path.of("/dev/null")).run().ok();
            if (i >= 0) {
                runs.add(between - start);
                queues.add(System.nanoTime() - between);
            }
            // The GPU is free again once the end has been seen.
            Thread.sleep(300);
        }
        say("%s", when);
        say("  gpu run, free GPU  %s", runs);
        say("  gpu queue          %s", queues);
        Duration before = daemon.processorTime();
        long start = System.nanoTime();
        Thread.sleep(WATCHED_NANOS / 1_000_000);
        double seconds = (System.nanoTime() - start) / 1e9;
        say(
                "  the daemon takes %.1f %% of a core",
                daemon.processorTime().minus(before).toMillis() / 10.0 / seconds);
    }

    private static void say(String format, Object... values) {
        System.out.printf(Locale.ROOT, format + "%n", values);
    }

    private static final class Clients {
        private final TestDaemon daemon;
        private final List<Process> all = new ArrayList<>();
        private final Path marks;

        Clients(TestDaemon daemon) throws IOException {
            this.daemon = daemon;
            marks = Files.createTempDirectory("waiters");
        }

        Process start(int user, Object... words) {
            List<Object> command = new ArrayList<>(List.of("gpu", "run", "--gpu-wait", "--gpus"));
            command.addAll(List.of(words));
            Process process =
                    daemon.jnvdocker(command.toArray())
                            .with("SUDO_UID", user)
                            .log(Path.of("/dev/null"))
                            .start();
            all.add(process);
            return process;
        }

        void waits(int user) {
            start(user, "device=0", "sh", "-c", "touch " + marks + "/$$; sleep 100000");
        }

        int running() throws IOException {
            try (var files = Files.list(marks)) {
                return (int) files.count();
            }
        }

        int waiting() {
            String queue = daemon.jnvdocker("gpu", "queue", "--json").run().ok().out();
            return queue.split("\"place\"", -1).length - 1;
        }

        void awaitWaiting(int count) throws InterruptedException {
            while (waiting() < count) {
                Thread.sleep(200);
            }
        }

        void awaitHeld() throws InterruptedException {
            while (!daemon.jnvdocker("gpu", "leases").run().ok().out().contains("sleep")) {
                Thread.sleep(100);
            }
        }

        void end() throws Exception {
            all.forEach(Process::destroyForcibly);
            for (Process process : all) {
                process.waitFor();
            }
            try (var files = Files.list(marks)) {
                for (Path file : files.toList()) {
                    Files.delete(file);
                }
            }
            Files.delete(marks);
        }
    }
}
