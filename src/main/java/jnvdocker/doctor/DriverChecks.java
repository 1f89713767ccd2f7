package jnvdocker.doctor;

import jnvdocker.host.DeviceNodes;
import jnvdocker.host.HostDriver;
import jnvdocker.host.NoDriverException;
import jnvdocker.labels.DriverVersion;
import jnvdocker.process.ShortProcess;
import jnvdocker.volume.DriverVolume;
import jnvdocker.volume.DriverVolumeStore;
import jnvdocker.volume.Manifest;
import jnvdocker.volume.ServedVolumes;
import jnvdocker.volume.files.DriverFiles;
import jnvdocker.volume.files.DriverFiles.LeftOut;
import jnvdocker.volume.files.DriverVolumeException;
import jnvdocker.words.Indices;
import jnvdocker.words.Quote;
import jnvdocker.words.Refusal;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Checks the driver: its module, nodes and files. */
final class DriverChecks {
    private static final Duration LIMIT = Duration.ofSeconds(5);
    private static final String PERSISTENCED = "nvidia-persistenced";
    private static final Pattern ASLEEP = Pattern.compile("([0-9]{1,4}), Disabled");
    private static final Path KERNEL = Path.of("/proc/driver/nvidia/version");

    private final Doctor.Surroundings around;

    DriverChecks(Doctor.Surroundings around) {
        this.around = around;
    }

    /** The kernel module, and whether the libraries on this host are of the same version. */
    void driver(Findings found) throws IOException {
        try {
            DriverVersion driver = HostDriver.readVersion(around.host());
            // A run does not check once the volume exists: the driver may have been upgraded since.
            DriverFiles.find(around.host(), driver);
            String supported =
                    around.cuda()
                            .of(driver)
                            .map(version -> "with CUDA " + version)
                            .orElse("whose CUDA version is not known");
            found.ok(
                    "driver %s is loaded, %s; its libraries are the same version"
                            .formatted(driver, supported));
        } catch (NoDriverException | DriverVolumeException e) {
            found.wrong(e);
        }
    }

    /**
     * The device nodes. A run makes missing nodes; docker does not when it starts a container on
     * its own.
     */
    void nodes(Findings found) throws IOException {
        DeviceNodes nodes = around.gpuHost().nodes();
        HostDriver driver = HostDriver.read(around.host());
        try {
            nodes.faults(driver.gpus()).forEach(fault -> add(fault, found));
        } catch (NoDriverException e) {
            found.wrong(e);
        }
        if (!nodes.hasUvm()) {
            found.wrong(
                    "the kernel module nvidia-uvm, without which CUDA does not work, is not loaded",
                    "load it and make its nodes" + maker());
        }
        found.okIfNothingElse("the device nodes of the driver and its GPUs are there");
    }

    private void add(DeviceNodes.Fault fault, Findings found) {
        String device = fault.major() + ":" + fault.minor();
        String make =
                fault.made()
                        ? maker()
                        : ": mknod " + fault.path() + " c " + device.replace(':', ' ');
        if (fault.missing()) {
            found.wrong(fault.path() + " is missing", "make it" + make);
            return;
        }
        found.wrong(
                "%s is not the character device %s that the driver has now"
                        .formatted(fault.path(), device),
                "rm " + fault.path() + ", and make it again" + make);
    }

    private String maker() {
        return ", as jnvdocker-nodes.service does at boot: "
                + around.daemon().tree().resolve("bin/jnvdockerd")
                + " --make-nodes";
    }

    /** Whether the driver stays awake while no GPU is in use. */
    void persistence(Findings found) throws IOException {
        if (ProcessHandle.allProcesses().anyMatch(DriverChecks::keepsDriverAwake)) {
            found.ok(PERSISTENCED + " runs");
            return;
        }
        // As root it makes nodes in the real /dev, even without a driver.
        if (!Files.exists(KERNEL)) {
            found.unknown(PERSISTENCED + " does not run, and this kernel has no driver to query");
            return;
        }
        Optional<DriverVolume> volume =
                around.volumes().find(HostDriver.readVersion(around.host()));
        if (volume.isEmpty()) {
            found.unknown(PERSISTENCED + " does not run, and the driver volume has no nvidia-smi");
            return;
        }
        try {
            ShortProcess.Result result = ShortProcess.run(question(volume.get().path()), LIMIT);
            judge(result.exitCode(), result.output(), found);
        } catch (IOException e) {
            unanswered(Finding.failure(e), found);
        }
    }

    private static boolean keepsDriverAwake(ProcessHandle process) {
        return process.info().command().filter(DriverChecks::isDaemon).isPresent()
                && Stream.of(process.info().arguments().orElse(new String[0]))
                        .noneMatch("--no-persistence-mode"::equals);
    }

    private static boolean isDaemon(String program) {
        Path name = Path.of(program.replaceFirst(" \\(deleted\\)$", "")).getFileName();
        return name != null && name.toString().equals(PERSISTENCED);
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
    static void judge(int exitCode, String output, Findings found) {
        List<String> lines = output.lines().filter(line -> !line.isBlank()).toList();
        if (exitCode != 0 || lines.isEmpty()) {
            unanswered(Quote.quoted(output.strip()), found);
            return;
        }
        List<Integer> asleep =
                lines.stream()
                        .map(ASLEEP::matcher)
                        .filter(Matcher::matches)
                        .map(line -> Integer.valueOf(line.group(1)))
                        .toList();
        if (!asleep.isEmpty()) {
            found.hint(
                    (asleep.size() == 1 ? "GPU " : "GPUs ")
                            + Indices.text(asleep.stream())
                            + " without persistence mode: the first use after a pause takes"
                            + " seconds",
                    "run " + PERSISTENCED + ", or nvidia-smi -pm 1 at each boot");
            return;
        }
        if (lines.stream().allMatch(line -> line.endsWith(", Enabled"))) {
            found.ok("all GPUs have persistence mode");
        } else {
            unanswered(Quote.quoted(output.strip()), found);
        }
    }

    private static void unanswered(String why, Findings found) {
        found.unknown(PERSISTENCED + " does not run, and nvidia-smi does not report it: " + why);
    }

    /** Whether the volume of the loaded driver gives containers the driver of this host. */
    void volume(Findings found) throws IOException {
        DriverVolumeStore volumes = around.volumes();
        ServedVolumes served = around.gpuHost().served();
        DriverVersion driver = HostDriver.readVersion(around.host());
        Optional<DriverVolume> there = volumes.find(driver);
        if (there.isEmpty() && !Files.exists(volumes.path(driver))) {
            // The case after each driver upgrade.
            found.ok(
                    volumes.path(driver)
                            + " is made when the first container needs driver "
                            + driver);
            return;
        }
        Optional<Refusal> replaced = replaced(driver);
        if (there.isEmpty()) {
            found.wrong(
                    new Refusal(
                            volumes.path(driver) + " is an incomplete driver volume",
                            replaced.flatMap(Refusal::remedy)
                                    .orElse("make it: jnvdocker gpu volume")));
            return;
        }
        DriverVolume volume = there.get();
        List<String> problems = served.verify(around.host(), volume);
        for (String problem : problems) {
            found.wrong(
                    replaced.map(why -> new Refusal(problem, why.remedy()))
                            .orElse(new Refusal(problem, ServedVolumes.REMAKE)));
        }
        if (problems.isEmpty()) {
            found.ok(
                    volume.path()
                            + " has "
                            + volume.manifest().contents().size()
                            + (replaced.isEmpty()
                                    ? " files, each the host's"
                                    : " files, which containers go on getting"));
        }
        ServedVolumes.Served its = served.known(volume);
        // One container's changes to the volume reach the next container.
        its.copied()
                .map(why ->
                        why.precededBy(
                                "containers get " + its.path() + ", which they can write to: "))
                .ifPresent(found::hint);
        leftOut(missing(volume), found);
    }

    /** The files that were left out and that a container may miss: the volume has no other. */
    private static List<LeftOut> missing(DriverVolume volume) {
        Set<String> names =
                volume.manifest().files().stream()
                        .map(Manifest.Entry::name)
                        .collect(Collectors.toSet());
        return volume.manifest().leftOut().stream()
                .filter(file -> !file.reason().byIntent())
                .filter(file -> !names.contains(Path.of(file.path()).getFileName().toString()))
                .toList();
    }

    /** Why no such volume can be made now: it must stay. */
    private Optional<Refusal> replaced(DriverVersion driver) throws IOException {
        try {
            DriverFiles.find(around.host(), driver);
            return Optional.empty();
        } catch (DriverVolumeException e) {
            return Optional.of(e.refusal());
        }
    }

    private static void leftOut(List<LeftOut> files, Findings found) {
        if (files.isEmpty()) {
            return;
        }
        LeftOut first = files.getFirst();
        found.hint(
                "left out of the volume: "
                        + first.path()
                        + " ("
                        + first.reason().words()
                        + ")"
                        + (files.size() == 1 ? "" : ", and " + (files.size() - 1) + " more"),
                "see jnvdocker gpu volume, if a container misses one");
    }
}
