package jnvdocker.doctor;

import jnvdocker.host.Host;
import jnvdocker.host.HostDriver;
import jnvdocker.process.ShortProcess;
import jnvdocker.volume.DriverVolume;
import jnvdocker.volume.DriverVolumeStore;
import jnvdocker.words.Indices;
import jnvdocker.words.Quote;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** Checks whether the driver stays awake while no GPU is in use. */
final class PersistenceCheck implements Check {
    private static final Duration LIMIT = Duration.ofSeconds(5);
    private static final String DAEMON = "nvidia-persistenced";
    private static final Pattern ASLEEP = Pattern.compile("([0-9]{1,4}), Disabled");
    private static final Path KERNEL = Path.of("/proc/driver/nvidia/version");

    private final Host host;
    private final DriverVolumeStore volumes;

    PersistenceCheck(Host host, DriverVolumeStore volumes) {
        this.host = host;
        this.volumes = volumes;
    }

    @Override
    public String name() {
        return "persistence";
    }

    @Override
    public List<Finding> findings() throws IOException {
        if (ProcessHandle.allProcesses().anyMatch(PersistenceCheck::keepsDriverAwake)) {
            return List.of(Finding.ok(DAEMON + " runs"));
        }
        // As root it makes nodes in the real /dev, even without a driver.
        if (!Files.exists(KERNEL)) {
            return List.of(
                    Finding.unknown(
                            DAEMON + " does not run, and this kernel has no driver to query"));
        }
        Optional<DriverVolume> volume = volumes.find(HostDriver.readVersion(host));
        if (volume.isEmpty()) {
            return List.of(
                    Finding.unknown(
                            DAEMON + " does not run, and the driver volume has no nvidia-smi"));
        }
        try {
            ShortProcess.Result result = ShortProcess.run(question(volume.get().path()), LIMIT);
            return List.of(judge(result.exitCode(), result.output()));
        } catch (IOException e) {
            return List.of(unanswered(Finding.failure(e)));
        }
    }

    private static boolean keepsDriverAwake(ProcessHandle process) {
        return process.info().command().filter(PersistenceCheck::isDaemon).isPresent()
                && Stream.of(process.info().arguments().orElse(new String[0]))
                        .noneMatch("--no-persistence-mode"::equals);
    }

    private static boolean isDaemon(String program) {
        Path name = Path.of(program.replaceFirst(" \\(deleted\\)$", "")).getFileName();
        return name != null && name.toString().equals(DAEMON);
    }

    private static ProcessBuilder question(Path volume) {
        ProcessBuilder builder =
                new ProcessBuilder(
                        volume.resolve("bin/nvidia-smi").toString(),
                        "--query-gpu=index,persistence_mode",
                        "--format=csv,noheader");
        builder.environment().clear();
        builder.environment().put("LC_ALL", "C.UTF-8");
        builder.environment().put("LD_LIBRARY_PATH", volume.resolve("lib64").toString());
        return builder;
    }

    /**
     * @param output a line {@code 0, Enabled} for each GPU
     */
    static Finding judge(int exitCode, String output) {
        List<String> lines = output.lines().filter(line -> !line.isBlank()).toList();
        if (exitCode != 0 || lines.isEmpty()) {
            return unanswered(Quote.quoted(output.strip()));
        }
        List<Integer> asleep =
                lines.stream()
                        .map(ASLEEP::matcher)
                        .filter(Matcher::matches)
                        .map(line -> Integer.valueOf(line.group(1)))
                        .toList();
        if (!asleep.isEmpty()) {
            return Finding.hint(
                    (asleep.size() == 1 ? "GPU " : "GPUs ")
                            + Indices.text(asleep.stream())
                            + " without persistence mode: the first use after a pause takes"
                            + " seconds",
                    "run " + DAEMON + ", or nvidia-smi -pm 1 at each boot");
        }
        return lines.stream().allMatch(line -> line.endsWith(", Enabled"))
                ? Finding.ok("all GPUs have persistence mode")
                : unanswered(Quote.quoted(output.strip()));
    }

    private static Finding unanswered(String why) {
        return Finding.unknown(DAEMON + " does not run, and nvidia-smi does not report it: " + why);
    }
}
