package jnvdocker.tests.bench;

import jnvdocker.tests.world.DriverRoot;
import jnvdocker.tests.world.TestDaemon;
import jnvdocker.tests.world.TestEngine;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/**
 * The duration of a plan with a lease, and of docker's Mount and Unmount of it, on two hosts in
 * turn: one whose engine has few containers with claims, and one that has many.
 */
public final class LeaseBench {
    private static final int GPUS = 24;
    private static final int FEW = 10;
    private static final int MANY = 1000;
    private static final int CLIENTS = 16;
    private static final int ROUNDS = 20;

    private LeaseBench() {}

    public static void main(String[] arguments) throws Exception {
        int many = arguments.length == 0 ? MANY : Integer.parseInt(arguments[0]);
        try (World few = new World(FEW);
                World more = new World(many)) {
            for (World world : List.of(few, more)) {
                world.round(1, new Times()); // warm up the JVM
                world.round(CLIENTS, new Times());
            }
            for (int clients : new int[] {1, CLIENTS}) {
                Times of = new Times();
                Times ofMany = new Times();
                Duration before = few.daemon.processorTime();
                Duration beforeMany = more.daemon.processorTime();
                for (int round = 0; round < ROUNDS; round++) {
                    few.round(clients, of);
                    more.round(clients, ofMany);
                }
                System.out.println(clients + (clients == 1 ? " client" : " clients at once"));
                compare("plan", of.plan, ofMany.plan, many);
                compare("Mount", of.mount, ofMany.mount, many);
                compare("Unmount", of.unmount, ofMany.unmount, many);
                System.out.printf(
                        Locale.ROOT,
                        "  the daemon has a processor for %.1f ms a lease with %d containers, for"
                                + " %.1f ms with %d%n",
                        few.cost(before),
                        FEW,
                        more.cost(beforeMany),
                        many);
            }
        }
    }

    private static void compare(String what, Samples few, Samples many, int containers) {
        System.out.printf(Locale.ROOT, "  %-8s %5d containers  %s%n", what, FEW, few);
        System.out.printf(Locale.ROOT, "  %-8s %5d containers  %s%n", "", containers, many);
        System.out.printf(
                Locale.ROOT, "  %-8s growth of p50: %.2f x%n", "", many.median() / few.median());
    }

    private static final class Times {
        private static final int SIZE = ROUNDS * GPUS;
        private final Samples plan = new Samples(SIZE);
        private final Samples mount = new Samples(SIZE);
        private final Samples unmount = new Samples(SIZE);
    }

    /** A host of its own, with an engine, a daemon, and containers that have claims. */
    private static final class World implements AutoCloseable {
        private final TestEngine engine = new TestEngine();
        private final DriverRoot host = DriverRoot.make(DriverRoot.Release.DRIVER_535, GPUS);
        private final TestDaemon daemon = new TestDaemon(engine, host);
        private final RawClient client;

        World(int containers) throws Exception {
            daemon.jnvdocker("gpu", "ls").run().ok();
            engine.image("cuda", "--label", "com.nvidia.volumes.needed=nvidia_driver");
            parallel(
                    4,
                    containers,
                    () -> daemon.jnvdocker("create", "--gpus", "1", "cuda", "true").run().ok());
            List<String> variables = new ArrayList<>();
            daemon.environment().forEach((name, value) -> variables.add(name + "=" + value));
            client = new RawClient(daemon.socket(), variables);
        }

        /** Claims, mounts and unmounts every GPU once, with that many concurrent clients. */
        void round(int clients, Times times) throws Exception {
            parallel(clients, GPUS, () -> lease(times));
            // Each lease ends a quarter of a second after its unmount, which must not coincide with
            // a plan.
            Thread.sleep(1_500);
        }

        /** Milliseconds of a processor for each lease of all rounds since then. */
        double cost(Duration before) {
            return daemon.processorTime().minus(before).toMillis() / (double) (ROUNDS * GPUS);
        }

        private Void lease(Times times) throws IOException {
            long start = System.nanoTime();
            List<String> docker = client.plan(List.of("run", "--gpus", "1", "cuda", "true"));
            times.plan.add(System.nanoTime() - start);
            String volume = volume(docker);
            RawPlugin plugin = new RawPlugin(daemon.pluginSocket());
            plugin.query("Create", volume, "");
            start = System.nanoTime();
            plugin.query("Mount", volume, "bench");
            times.mount.add(System.nanoTime() - start);
            start = System.nanoTime();
            plugin.query("Unmount", volume, "bench");
            times.unmount.add(System.nanoTime() - start);
            return null;
        }

        private static String volume(List<String> docker) {
            return docker.stream()
                    .filter(word -> word.contains("src=jnvdocker_claim_"))
                    .map(word -> word.replaceAll(".*src=([^,]+),.*", "$1"))
                    .findFirst()
                    .orElseThrow();
        }

        private static void parallel(int threads, int times, Callable<?> task) throws Exception {
            try (ExecutorService pool = Executors.newFixedThreadPool(threads)) {
                List<Future<?>> all = new ArrayList<>();
                for (int i = 0; i < times; i++) {
                    all.add(pool.submit(task));
                }
                for (Future<?> each : all) {
                    each.get();
                }
            }
        }

        @Override
        public void close() {
            daemon.close();
            engine.close();
            host.close();
        }
    }
}
