package jnvdocker.tests.bench;

import jnvdocker.tests.world.DriverRoot;
import jnvdocker.tests.world.Project;
import jnvdocker.tests.world.TestDaemon;
import jnvdocker.tests.world.TestEngine;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.Function;

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

    /**
     * @param arguments how many containers the second host has, and another tree, whose daemon has
     *     a third host with as few as the first
     */
    public static void main(String[] arguments) throws Exception {
        int many = arguments.length == 0 ? MANY : Integer.parseInt(arguments[0]);
        Map<String, World> worlds = new LinkedHashMap<>();
        try {
            worlds.put(FEW + " containers", new World(FEW, Project.tree()));
            worlds.put(many + " containers", new World(many, Project.tree()));
            if (arguments.length > 1) {
                worlds.put("the other tree's", new World(FEW, Path.of(arguments[1])));
            }
            for (World world : worlds.values()) {
                world.round(1, new Times()); // warm up the JVM
                world.round(CLIENTS, new Times());
            }
            for (int clients : new int[] {1, CLIENTS}) {
                Map<String, Times> times = new LinkedHashMap<>();
                Map<String, Duration> before = new LinkedHashMap<>();
                for (Map.Entry<String, World> world : worlds.entrySet()) {
                    times.put(world.getKey(), new Times());
                    before.put(world.getKey(), world.getValue().daemon.processorTime());
                }
                for (int round = 0; round < ROUNDS; round++) {
                    for (Map.Entry<String, World> world : worlds.entrySet()) {
                        world.getValue().round(clients, times.get(world.getKey()));
                    }
                }
                System.out.println(clients + (clients == 1 ? " client" : " clients at once"));
                compare("plan", times, Times::plan);
                compare("Mount", times, Times::mount);
                compare("Unmount", times, Times::unmount);
                worlds.forEach((name, world) ->
                        System.out.printf(
                                Locale.ROOT,
                                "  %-18s the daemon has a processor for %.1f ms a lease%n",
                                name,
                                world.cost(before.get(name))));
            }
        } finally {
            worlds.values().forEach(World::close);
        }
    }

    private static void compare(
            String what, Map<String, Times> times, Function<Times, Samples> which) {
        double first = which.apply(times.values().iterator().next()).median();
        times.forEach((name, each) ->
                System.out.printf(
                        Locale.ROOT,
                        "  %-8s %-18s %s   %.2f x%n",
                        what,
                        name,
                        which.apply(each),
                        which.apply(each).median() / first));
    }

    private record Times(Samples plan, Samples mount, Samples unmount) {
        private static final int SIZE = ROUNDS * GPUS;

        Times() {
            this(new Samples(SIZE), new Samples(SIZE), new Samples(SIZE));
        }
    }

    /** A host of its own, with an engine, a daemon, and containers that have claims. */
    private static final class World implements AutoCloseable {
        private final TestEngine engine = new TestEngine();
        private final DriverRoot host = DriverRoot.make(DriverRoot.Release.DRIVER_535, GPUS);
        private final TestDaemon daemon;
        private final RawClient client;

        World(int containers, Path tree) throws Exception {
            daemon = new TestDaemon(engine, host, tree);
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
