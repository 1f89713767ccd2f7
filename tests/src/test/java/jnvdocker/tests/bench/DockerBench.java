package jnvdocker.tests.bench;

import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.DriverRoot;
import jnvdocker.tests.world.TestDaemon;
import jnvdocker.tests.world.TestEngine;

import java.util.List;
import java.util.Locale;
import java.util.function.Supplier;

/**
 * The cost of typing {@code jnvdocker} instead of {@code docker}: each command is typed to both in
 * turn, with alternating order.
 */
public final class DockerBench {
    private static final int PAIRS = 60;
    private static final int WARM_UP = 8;

    private final TestEngine engine;
    private final TestDaemon daemon;

    private DockerBench(TestEngine engine, TestDaemon daemon) {
        this.engine = engine;
        this.daemon = daemon;
    }

    public static void main(String[] arguments) {
        int pairs = arguments.length == 0 ? PAIRS : Integer.parseInt(arguments[0]);
        try (TestEngine engine = new TestEngine();
                DriverRoot host = DriverRoot.make(DriverRoot.Release.DRIVER_535, 8);
                TestDaemon daemon = new TestDaemon(engine, host)) {
            engine.image("plain", "--small");
            engine.image("cuda", "--small", "--label", "com.nvidia.volumes.needed=nvidia_driver");
            new DockerBench(engine, daemon).measure(pairs);
        }
    }

    private void measure(int pairs) {
        compare(pairs, "docker ps", List.of("ps"));
        compare(pairs, "create, an image without GPUs", List.of("create", "plain", "true"));
        compare(pairs, "create, an image with GPUs", List.of("create", "cuda", "true"));
        compare(pairs, "run --rm, an image without GPUs", List.of("run", "--rm", "plain", "true"));
        compare(pairs, "run --rm, an image with GPUs", List.of("run", "--rm", "cuda", "true"));
    }

    private void compare(int pairs, String what, List<String> words) {
        Supplier<Command> docker = () -> engine.docker(words.toArray());
        Supplier<Command> ours = () -> daemon.jnvdocker(words.toArray());
        for (int i = 0; i < WARM_UP; i++) {
            time(docker.get());
            time(ours.get());
        }
        Samples without = new Samples(pairs);
        Samples with = new Samples(pairs);
        Samples added = new Samples(pairs);
        for (int i = 0; i < pairs; i++) {
            boolean oursFirst = i % 2 == 0;
            long first = time(oursFirst ? ours.get() : docker.get());
            long second = time(oursFirst ? docker.get() : ours.get());
            with.add(oursFirst ? first : second);
            without.add(oursFirst ? second : first);
            added.add(oursFirst ? first - second : second - first);
            engine.removeContainers();
        }
        System.out.println(what);
        System.out.println("  docker      " + without);
        System.out.println("  jnvdocker   " + with);
        System.out.println("  difference  " + added);
        System.out.printf(
                Locale.ROOT, "  ratio of the medians: %.3f x%n", with.median() / without.median());
    }

    private static long time(Command command) {
        long start = System.nanoTime();
        command.run().ok();
        return System.nanoTime() - start;
    }
}
