package jnvdocker.tests.bench;

import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.Lab;
import jnvdocker.tests.world.RuntimeInstallation;
import jnvdocker.tests.world.TestEngine;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;

/**
 * The cost of our OCI runtime: the same container is run by runc, by runc with as many nodes and
 * mounts as a GPU takes, by our runtime, and by our runtime with a GPU, in an order that changes
 * from round to round.
 */
public final class RuntimeBench {
    private static final int ROUNDS = 60;
    private static final int WARM_UP = 8;

    /** The variants that are compared, with their options. */
    private static final Map<String, List<String>> KINDS = new LinkedHashMap<>();

    static {
        KINDS.put("runc", List.of());
        KINDS.put(
                "runc, with 4 nodes and 2 mounts",
                List.of(
                        "--device=/dev/null:/dev/a",
                        "--device=/dev/null:/dev/b",
                        "--device=/dev/null:/dev/c",
                        "--device=/dev/null:/dev/d",
                        "--volume=/usr/lib:/usr/local/nvidia:ro",
                        "--volume=/usr/share:/run/jnvdocker:ro"));
        KINDS.put("ours", List.of("--runtime=nvidia"));
        KINDS.put("ours, with a GPU", List.of("--runtime=nvidia", "--label", "jnvdocker.gpus=1"));
    }

    private final Lab lab;

    private RuntimeBench(Lab lab) {
        this.lab = lab;
    }

    public static void main(String[] arguments) {
        int rounds = arguments.length == 0 ? ROUNDS : Integer.parseInt(arguments[0]);
        for (TestEngine.Release release : TestEngine.Release.values()) {
            try (Lab lab = new Lab(release, 8);
                    RuntimeInstallation _ = RuntimeInstallation.of(lab)) {
                System.out.println("Docker " + lab.engine().version());
                RuntimeBench bench = new RuntimeBench(lab);
                bench.compare(rounds, "run --rm", bench::run);
                bench.compare(rounds, "start", bench::start);
            }
        }
    }

    private void compare(int rounds, String what, Function<List<String>, Long> timed) {
        List<String> names = List.copyOf(KINDS.keySet());
        Map<String, Samples> times = new LinkedHashMap<>();
        Map<String, Samples> added = new LinkedHashMap<>();
        for (String name : names) {
            times.put(name, new Samples(rounds));
            added.put(name, new Samples(rounds));
            for (int i = 0; i < WARM_UP; i++) {
                timed.apply(KINDS.get(name));
            }
        }
        for (int round = 0; round < rounds; round++) {
            Map<String, Long> each = new LinkedHashMap<>();
            for (int i = 0; i < names.size(); i++) {
                String name = names.get((round + i) % names.size());
                each.put(name, timed.apply(KINDS.get(name)));
            }
            long plain = each.get(names.getFirst());
            each.forEach((name, time) -> {
                times.get(name).add(time);
                added.get(name).add(time - plain);
            });
        }
        System.out.println(what);
        for (String name : names) {
            System.out.println("  " + name + "   " + times.get(name));
            if (!name.equals(names.getFirst())) {
                System.out.println("    added   " + added.get(name));
            }
        }
    }

    private long run(List<String> options) {
        List<Object> words = new ArrayList<>(List.of("run", "--rm", "--network=none"));
        words.addAll(options);
        words.addAll(List.of("plain", "true"));
        return time(lab.engine().docker(words.toArray()));
    }

    /** Times the start of a container that is created before, and removed afterwards. */
    private long start(List<String> options) {
        List<Object> words =
                new ArrayList<>(
                        List.of("create", "--network=none", "--stop-signal=KILL", "--name=it"));
        words.addAll(options);
        words.addAll(List.of("plain", "sleep", "1000"));
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
