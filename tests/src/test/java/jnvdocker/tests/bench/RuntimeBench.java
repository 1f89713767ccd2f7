package jnvdocker.tests.bench;

import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.DriverRoot;
import jnvdocker.tests.world.Lab;
import jnvdocker.tests.world.Project;
import jnvdocker.tests.world.RuntimeInstallation;
import jnvdocker.tests.world.TestEngine;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Function;
import java.util.function.ToLongFunction;

/**
 * The cost of our OCI runtime: the same container is run by runc, by runc with as many nodes and
 * mounts as a GPU takes, by our runtime, and by our runtime with a GPU, in an order that is mixed
 * again for each round. With a GPU, runc has more to do, too: the added time is compared with both.
 * All of it is done with an image in which the driver's files are linked, and one that has no place
 * for them. Another tree's runtime has an engine and a daemon of its own, and takes its turns in
 * the same rounds.
 */
public final class RuntimeBench {
    private static final int ROUNDS = 60;
    private static final int WARM_UP = 8;
    private static final int SEED = 14;

    /** After which the daemon and the engine have done with the container before. */
    private static final Duration REST = Duration.ofMillis(400);

    private static final String PLAIN = "runc";
    private static final String EQUIPPED = "runc, with 4 nodes and 2 mounts";
    private static final String OURS = "ours";
    private static final String WITH_GPU = "ours, with a GPU";

    /** Begins the name of what the other tree's runtime does. */
    private static final String OTHER = "the other tree's: ";

    private static final String BY_RUNC = "--runtime=runc";

    /** The image of busybox alone, in whose root nothing is put. */
    private static final String SMALL = "plain";

    /** The image with glibc: the driver's files are linked into its directories. */
    private static final String DEBIAN = "debian";

    /** The variants that are compared, with their options. */
    private static final Map<String, List<String>> KINDS = new LinkedHashMap<>();

    static {
        KINDS.put(PLAIN, List.of(BY_RUNC));
        KINDS.put(
                EQUIPPED,
                List.of(
                        BY_RUNC,
                        "--device=/dev/null:/dev/a",
                        "--device=/dev/null:/dev/b",
                        "--device=/dev/null:/dev/c",
                        "--device=/dev/null:/dev/d",
                        "--volume=/usr/lib:/usr/local/nvidia:ro",
                        "--volume=/usr/share:/run/jnvdocker:ro"));
        KINDS.put(OURS, List.of("--runtime=nvidia"));
        KINDS.put(
                WITH_GPU,
                List.of(
                        "--runtime=nvidia",
                        "--label",
                        "jnvdocker.gpus=1",
                        "--env",
                        "NVIDIA_DRIVER_CAPABILITIES=compute,utility"));
    }

    /** A container's options on an engine. */
    private record Variant(Lab lab, List<String> options) {}

    private final Map<String, Variant> variants;
    private final String image;

    private RuntimeBench(Map<String, Variant> variants, String image) {
        this.variants = variants;
        this.image = image;
    }

    /**
     * @param arguments how many rounds, and another tree
     */
    public static void main(String[] arguments) {
        int rounds = arguments.length == 0 ? ROUNDS : Integer.parseInt(arguments[0]);
        Optional<Path> other =
                arguments.length < 2 ? Optional.empty() : Optional.of(Path.of(arguments[1]));
        for (TestEngine.Release release : TestEngine.Release.values()) {
            Map<String, Variant> variants = new LinkedHashMap<>();
            try (Lab lab = lab(release, Project.tree());
                    RuntimeInstallation _ = RuntimeInstallation.of(lab, "--default")) {
                KINDS.forEach((name, options) -> variants.put(name, new Variant(lab, options)));
                if (other.isEmpty()) {
                    compare(rounds, variants);
                    continue;
                }
                try (Lab its = lab(release, other.get());
                        RuntimeInstallation _ = RuntimeInstallation.of(its, "--default")) {
                    for (String name : List.of(OURS, WITH_GPU)) {
                        variants.put(OTHER + name, new Variant(its, KINDS.get(name)));
                    }
                    compare(rounds, variants);
                }
            }
        }
    }

    private static Lab lab(TestEngine.Release release, Path tree) {
        TestEngine engine = new TestEngine(release);
        Lab lab = new Lab(engine, DriverRoot.make(DriverRoot.Release.DRIVER_535, 8), tree);
        System.out.println("Docker " + engine.version() + ", " + tree);
        engine.image(DEBIAN, "--tools", "bookworm");
        return lab;
    }

    private static void compare(int rounds, Map<String, Variant> variants) {
        for (String image : List.of(SMALL, DEBIAN)) {
            RuntimeBench bench = new RuntimeBench(variants, image);
            bench.compare(rounds, image + ": run --rm", bench::run);
            bench.compare(rounds, image + ": start", bench::start);
        }
    }

    private void compare(int rounds, String what, Function<Variant, Long> timed) {
        List<String> names = new ArrayList<>(variants.keySet());
        List<Map<String, Long>> all = new ArrayList<>();
        Random order = new Random(SEED);
        for (int round = 0; round < WARM_UP + rounds; round++) {
            Map<String, Long> each = new LinkedHashMap<>();
            Collections.shuffle(names, order);
            for (String name : names) {
                LockSupport.parkNanos(REST.toNanos());
                each.put(name, timed.apply(variants.get(name)));
            }
            all.add(each);
        }
        List<Map<String, Long>> measured = all.subList(WARM_UP, all.size());
        System.out.println(what);
        for (String name : variants.keySet()) {
            print("  " + name, measured, each -> each.get(name));
        }
        for (String name : List.of(EQUIPPED, OURS, WITH_GPU)) {
            print("  added to " + PLAIN + ": " + name, measured, added(PLAIN, name));
        }
        print("  added to " + EQUIPPED + ": " + WITH_GPU, measured, added(EQUIPPED, WITH_GPU));
        for (String name : List.of(OURS, WITH_GPU)) {
            if (variants.containsKey(OTHER + name)) {
                print("  added to " + OTHER + name, measured, added(OTHER + name, name));
            }
        }
        System.out.printf(
                Locale.ROOT,
                "  ratio of the medians: %.3f, to %s: %.3f%n",
                median(measured, WITH_GPU) / median(measured, PLAIN),
                EQUIPPED,
                median(measured, WITH_GPU) / median(measured, EQUIPPED));
    }

    private static double median(List<Map<String, Long>> rounds, String name) {
        return samples(rounds, each -> each.get(name)).median();
    }

    private static ToLongFunction<Map<String, Long>> added(String to, String name) {
        return each -> each.get(name) - each.get(to);
    }

    private static void print(
            String what, List<Map<String, Long>> rounds, ToLongFunction<Map<String, Long>> time) {
        System.out.printf("%-76s%s%n", what, samples(rounds, time));
    }

    private static Samples samples(
            List<Map<String, Long>> rounds, ToLongFunction<Map<String, Long>> time) {
        Samples samples = new Samples(rounds.size());
        rounds.forEach(each -> samples.add(time.applyAsLong(each)));
        return samples;
    }

    private long run(Variant variant) {
        List<Object> words = new ArrayList<>(List.of("run", "--rm", "--network=none"));
        words.addAll(variant.options());
        words.addAll(List.of(image, "true"));
        return time(variant.lab().engine().docker(words.toArray()));
    }

    /** Times the start of a container that is created before, and removed afterwards. */
    private long start(Variant variant) {
        List<Object> words =
                new ArrayList<>(
                        List.of("create", "--network=none", "--stop-signal=KILL", "--name=it"));
        words.addAll(variant.options());
        words.addAll(List.of(image, "sleep", "1000"));
        Lab lab = variant.lab();
        lab.docker(words.toArray()).ok();
        long time = time(lab.engine().docker("start", "it"));
        lab.docker("rm", "-f", "it").ok();
        return time;
    }

    private static long time(Command command) {
        long start = System.nanoTime();
        command.run().ok();
        return System.nanoTime() - start;
    }
}
