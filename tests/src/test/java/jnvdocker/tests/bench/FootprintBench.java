package jnvdocker.tests.bench;

import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.DriverRoot;
import jnvdocker.tests.world.Project;
import jnvdocker.tests.world.TestDaemon;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * The size of the installed tree, the time from the daemon's start to its first answer, and its
 * memory when it has been idle, at first and after many programs that had a lease. Another tree,
 * such as that of the release before, is measured in turn with the built one.
 */
public final class FootprintBench {
    private static final int ROUNDS = 15;
    private static final long IDLE_MILLIS = 5000;

    private FootprintBench() {}

    /**
     * @param arguments how many rounds, another tree, and how many programs
     */
    public static void main(String[] arguments) throws Exception {
        int rounds = arguments.length == 0 ? ROUNDS : Integer.parseInt(arguments[0]);
        Map<String, Path> trees = new LinkedHashMap<>();
        trees.put("built", Project.tree());
        if (arguments.length > 1) {
            trees.put("other", Path.of(arguments[1]));
        }
        trees.forEach((name, tree) ->
                System.out.printf(
                        Locale.ROOT,
                        "%s  tree %.1f MB, its Java %.1f MB%n",
                        name,
                        bytes(tree) / 1e6,
                        bytes(tree.resolve("java")) / 1e6));
        int programs = arguments.length > 2 ? Integer.parseInt(arguments[2]) : 0;
        Map<String, Samples> starts = new LinkedHashMap<>();
        Map<String, List<Memory>> memories = new LinkedHashMap<>();
        Map<String, List<Memory>> later = new LinkedHashMap<>();
        try (DriverRoot host = DriverRoot.make(DriverRoot.Release.DRIVER_535, 4)) {
            for (int i = -1; i < rounds; i++) {
                for (Map.Entry<String, Path> tree : trees.entrySet()) {
                    Round round = round(host, tree.getValue(), i < 0 ? 0 : programs);
                    if (i >= 0) {
                        starts.computeIfAbsent(tree.getKey(), _ -> new Samples(rounds))
                                .add(round.nanos());
                        memories.computeIfAbsent(tree.getKey(), _ -> new ArrayList<>())
                                .add(round.memory());
                        later.computeIfAbsent(tree.getKey(), _ -> new ArrayList<>())
                                .add(round.later());
                    }
                }
            }
        }
        starts.forEach(
                (name, samples) -> System.out.println(name + "  start to first answer " + samples));
        memories.forEach((name, samples) -> System.out.println(name + "  idle " + show(samples)));
        if (programs > 0) {
            later.forEach((name, samples) ->
                    System.out.println(
                            name + "  after " + programs + " programs " + show(samples)));
        }
    }

    /**
     * @param later after the programs
     */
    private record Round(long nanos, Memory memory, Memory later) {}

    /** In kB, as /proc/PID/smaps_rollup has it. */
    private record Memory(long resident, long anonymous, long threads) {}

    /** The daemon has been started before, so that the driver volume is there. */
    private static Round round(DriverRoot host, Path tree, int programs) throws Exception {
        try (TestDaemon daemon = new TestDaemon(host, tree)) {
            Command list = daemon.jnvdocker("gpu", "ls");
            daemon.launch(Map.of());
            list.run().ok();
            daemon.stop();
            long before = System.nanoTime();
            daemon.launch(Map.of());
            list.run().ok();
            long nanos = System.nanoTime() - before;
            Thread.sleep(IDLE_MILLIS);
            Memory memory = memory(daemon.pid().orElseThrow());
            for (int i = 0; i < programs; i++) {
                daemon.jnvdocker("gpu", "run", "--gpus=1", "true").run().ok();
            }
            Thread.sleep(IDLE_MILLIS);
            return new Round(nanos, memory, memory(daemon.pid().orElseThrow()));
        }
    }

    private static Memory memory(long pid) throws IOException {
        String rollup = Files.readString(Path.of("/proc", Long.toString(pid), "smaps_rollup"));
        String status = Files.readString(Path.of("/proc", Long.toString(pid), "status"));
        return new Memory(
                field(rollup, "Rss"), field(rollup, "Anonymous"), field(status, "Threads"));
    }

    private static long field(String text, String name) {
        Matcher matcher = Pattern.compile("(?m)^" + name + ":\\s+(\\d+)").matcher(text);
        if (!matcher.find()) {
            throw new IllegalStateException("no " + name + " in " + text);
        }
        return Long.parseLong(matcher.group(1));
    }

    private static String show(List<Memory> samples) {
        long[] resident = samples.stream().mapToLong(Memory::resident).sorted().toArray();
        long[] anonymous = samples.stream().mapToLong(Memory::anonymous).sorted().toArray();
        return String.format(
                Locale.ROOT,
                "%5d   resident p50 %.1f MB (%.1f .. %.1f), anonymous p50 %.1f MB, %d threads",
                samples.size(),
                resident[resident.length / 2] / 1e3,
                resident[0] / 1e3,
                resident[resident.length - 1] / 1e3,
                anonymous[anonymous.length / 2] / 1e3,
                samples.getLast().threads());
    }

    private static long bytes(Path tree) {
        try (Stream<Path> files = Files.walk(tree)) {
            return files.filter(Files::isRegularFile).mapToLong(FootprintBench::size).sum();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static long size(Path file) {
        try {
            return Files.isSymbolicLink(file) ? 0 : Files.size(file);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
