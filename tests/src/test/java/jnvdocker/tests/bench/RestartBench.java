package jnvdocker.tests.bench;

import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.Lab;
import jnvdocker.tests.world.RuntimeInstallation;
import jnvdocker.tests.world.TestEngine;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Locale;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * A container with a GPU of our OCI runtime is restarted many times: the daemon's processor time
 * for each restart, and its heap after a collection, its memory and its threads in the course of
 * that.
 */
public final class RestartBench {
    private static final int RESTARTS = 2000;
    private static final int PARTS = 8;
    private static final int WARM_UP = 40;
    private static final Pattern USED = Pattern.compile("used (\\d+)K");

    private RestartBench() {}

    public static void main(String[] arguments) throws IOException {
        int restarts = arguments.length == 0 ? RESTARTS : Integer.parseInt(arguments[0]);
        try (Lab lab = new Lab(TestEngine.Release.NEWEST, 8);
                RuntimeInstallation _ = RuntimeInstallation.of(lab)) {
            Object[] run = {
                "run", "-d", "--runtime=nvidia", "--network=none", "--stop-signal=KILL",
                "--name=it", "--label=jnvdocker.gpus=1", "plain", "sleep", "100000"
            };
            lab.docker(run).ok();
            restart(lab, WARM_UP);
            long pid = lab.daemon().pid().orElseThrow();
            say(0, pid);
            int done = 0;
            for (int part = 1; part <= PARTS; part++) {
                int next = restarts * part / PARTS;
                Duration before = lab.daemon().processorTime();
                Samples samples = restart(lab, next - done);
                Duration cost = lab.daemon().processorTime().minus(before);
                System.out.printf(
                        Locale.ROOT,
                        "%s   the daemon %.1f ms of a processor each%n",
                        samples,
                        (double) cost.toMillis() / (next - done));
                done = next;
                say(done, pid);
            }
        }
    }

    private static Samples restart(Lab lab, int times) {
        Samples samples = new Samples(times);
        for (int i = 0; i < times; i++) {
            long start = System.nanoTime();
            lab.docker("restart", "it").ok();
            samples.add(System.nanoTime() - start);
        }
        return samples;
    }

    private static void say(int restarts, long pid) throws IOException {
        Command.of("jcmd", pid, "GC.run").run().ok();
        String heap = Command.of("jcmd", pid, "GC.heap_info").run().ok().out();
        long used = USED.matcher(heap).results().mapToLong(RestartBench::kilobytes).limit(2).sum();
        long resident =
                Files.readAllLines(Path.of("/proc/" + pid + "/status")).stream()
                        .filter(line -> line.startsWith("VmRSS:"))
                        .mapToLong(line -> Long.parseLong(line.replaceAll("\\D", "")))
                        .findFirst()
                        .orElseThrow();
        try (Stream<Path> threads = Files.list(Path.of("/proc/" + pid + "/task"));
                Stream<Path> files = Files.list(Path.of("/proc/" + pid + "/fd"))) {
            System.out.printf(
                    Locale.ROOT,
                    "after %5d restarts   heap %.1f MB   resident %.1f MB   %d threads   %d"
                            + " files%n",
                    restarts,
                    used / 1024.0,
                    resident / 1024.0,
                    threads.count(),
                    files.count());
        }
    }

    private static long kilobytes(MatchResult match) {
        return Long.parseLong(match.group(1));
    }
}
