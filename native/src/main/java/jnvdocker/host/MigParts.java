package jnvdocker.host;

import jnvdocker.words.Refusal;

import java.io.IOException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Puts the MIG instances of a GPU in its place. {@code
 * /proc/driver/nvidia/capabilities/gpu<minor>/mig} shows which there are, with the minors of their
 * nodes; their UUIDs are remembered from NVML.
 */
final class MigParts {
    private static final Pattern GPU_INSTANCE = Pattern.compile("gi([0-9]{1,4})");
    private static final Pattern COMPUTE_INSTANCE = Pattern.compile("ci([0-9]{1,4})");
    private static final Pattern MINOR =
            Pattern.compile("^DeviceFileMinor:\\s*([0-9]{1,7})\\s*$", Pattern.MULTILINE);

    private static final String REMEDY = "check the kernel log (dmesg | grep -i nvrm)";

    private final Host host;

    /** The directory of all GPUs' capabilities; empty with drivers from before MIG. */
    private final Optional<Path> capabilities;

    MigParts(Host host) throws IOException {
        this.host = host;
        this.capabilities =
                Optional.of(host.resolve("/proc/driver/nvidia/capabilities"))
                        .filter(Files::isDirectory);
    }

    private record Seen(int gpuInstance, int computeInstance, int gpuAccess, int computeAccess) {}

    /**
     * What the driver's files show of a GPU.
     *
     * @param parted whether it has any part; the directory of its parts is there without MIG mode,
     *     too
     * @param instances those that can be used
     */
    private record Shown(boolean parted, List<Seen> instances) {}

    /**
     * Returns the GPU itself unless it is in MIG mode; else its instances. As long as they are not
     * known, the GPU with that trouble: nobody can use it as a whole.
     */
    List<Gpu> of(Gpu gpu) {
        if (!gpu.isIdentified()) {
            return List.of(gpu);
        }
        Optional<MigMemory.Mode> mode = host.mig().of(gpu.pciAddress());
        Shown shown;
        try {
            shown = shown(gpu.minor());
        } catch (IOException e) {
            return List.of(
                    gpu.with(
                            new Refusal(
                                    "its MIG instances cannot be read (" + e.getMessage() + ")",
                                    REMEDY)));
        }
        if (shown.instances().isEmpty()) {
            boolean whole = !shown.parted() && mode.filter(MigMemory.Mode::enabled).isEmpty();
            return List.of(whole ? gpu : gpu.with(nothingShown(mode)));
        }
        List<Gpu> instances = new ArrayList<>();
        for (MigMemory.Instance known : mode.map(MigMemory.Mode::instances).orElse(List.of())) {
            shown.instances().stream()
                    .filter(it ->
                            it.gpuInstance() == known.gpuInstance()
                                    && it.computeInstance() == known.computeInstance())
                    .findFirst()
                    .ifPresent(it -> instances.add(instance(gpu, known, it)));
        }
        instances.sort(Comparator.comparingInt(it -> it.part().orElseThrow().number()));
        return instances.isEmpty()
                ? List.of(
                        gpu.with(
                                new Refusal(
                                        "it is in MIG mode, and NVML has not reported its instances"
                                                + " yet",
                                        "try again in a few seconds; if that does not help, run"
                                                + " 'nvidia-smi -L' as root")))
                : instances;
    }

    private static Refusal nothingShown(Optional<MigMemory.Mode> mode) {
        return mode.map(MigMemory.Mode::instances).orElse(List.of()).isEmpty()
                ? new Refusal(
                        "it is in MIG mode and has no instance",
                        "have root make one with 'nvidia-smi mig -cgi PROFILE -C'")
                : new Refusal(
                        "it is in MIG mode, and the driver's files do not show its instances",
                        REMEDY);
    }

    private static Gpu instance(Gpu gpu, MigMemory.Instance known, Seen seen) {
        Part part =
                new Part(
                        gpu.uuid(),
                        known.number(),
                        seen.gpuInstance(),
                        seen.computeInstance(),
                        seen.gpuAccess(),
                        seen.computeAccess(),
                        known.slices());
        return new Gpu(
                gpu.index(),
                known.uuid(),
                gpu.minor(),
                gpu.pciAddress(),
                known.model(),
                Optional.empty(),
                Optional.of(part));
    }

    private Shown shown(int minor) throws IOException {
        List<Seen> seen = new ArrayList<>();
        List<Path> parts =
                capabilities.isPresent()
                        ? entries(capabilities.get().resolve("gpu" + minor + "/mig"), GPU_INSTANCE)
                        : List.of();
        for (Path gpuInstance : parts) {
            OptionalInt gpuAccess = access(gpuInstance);
            for (Path computeInstance : entries(gpuInstance, COMPUTE_INSTANCE)) {
                OptionalInt computeAccess = access(computeInstance);
                if (gpuAccess.isPresent() && computeAccess.isPresent()) {
                    seen.add(
                            new Seen(
                                    number(gpuInstance, GPU_INSTANCE),
                                    number(computeInstance, COMPUTE_INSTANCE),
                                    gpuAccess.getAsInt(),
                                    computeAccess.getAsInt()));
                }
            }
        }
        return new Shown(!parts.isEmpty(), seen);
    }

    private static List<Path> entries(Path directory, Pattern name) throws IOException {
        List<Path> found = new ArrayList<>();
        try (DirectoryStream<Path> entries = Files.newDirectoryStream(directory)) {
            for (Path entry : entries) {
                if (name.matcher(entry.getFileName().toString()).matches()) {
                    found.add(entry);
                }
            }
        } catch (NoSuchFileException | NotDirectoryException e) {
            return List.of();
        } catch (DirectoryIteratorException e) {
            throw e.getCause();
        }
        return found;
    }

    private static int number(Path directory, Pattern name) {
        Matcher matcher = name.matcher(directory.getFileName().toString());
        return matcher.matches() ? Integer.parseInt(matcher.group(1)) : -1;
    }

    /** Empty for an instance that is just being removed. */
    private static OptionalInt access(Path instance) throws IOException {
        try {
            return parseMinor(KernelText.read(instance.resolve("access")));
        } catch (NoSuchFileException e) {
            return OptionalInt.empty();
        }
    }

    /** Parses {@code DeviceFileMinor: 21} of an instance's file. */
    static OptionalInt parseMinor(String text) {
        Matcher minor = MINOR.matcher(text);
        return minor.find()
                ? OptionalInt.of(Integer.parseInt(minor.group(1)))
                : OptionalInt.empty();
    }
}
