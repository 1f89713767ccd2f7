package jnvdocker.host;

import jnvdocker.labels.DriverVersion;
import jnvdocker.posix.FileErrors;
import jnvdocker.words.Quote;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The NVIDIA driver that is loaded now, as its kernel module presents it beneath {@code
 * /proc/driver/nvidia}.
 *
 * @param version the kernel module's
 * @param gpus in order of index, with its instances in the place of each GPU in MIG mode
 */
public record HostDriver(DriverVersion version, List<Gpu> gpus) {
    private static final String PROC_VERSION = "/proc/driver/nvidia/version";
    private static final String SYS_VERSION = "/sys/module/nvidia/version";

    /**
     * Matches both wordings: {@code NVIDIA UNIX x86_64 Kernel Module 535.104.05 Sat …} and {@code
     * NVIDIA UNIX Open Kernel Module for x86_64 550.54.14 Release Build …}.
     */
    private static final Pattern MODULE_VERSION =
            Pattern.compile(
                    "^NVRM version:.*?Kernel Module\\s+(?:for \\S+\\s+)?([0-9.]+)",
                    Pattern.MULTILINE);

    private static final Pattern PCI_ADDRESS =
            Pattern.compile("[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\\.[0-7]");

    /**
     * Set by the module's parameter NVreg_ExcludedGpus: the GPU has a node, and nothing can use it.
     */
    private static final Pattern EXCLUDED =
            Pattern.compile("^GPU Excluded:\\s+Yes", Pattern.MULTILINE);

    private static final Pattern UUID = Pattern.compile("GPU-[0-9a-fA-F?-]{8,64}");

    public HostDriver {
        gpus = List.copyOf(gpus);
    }

    /**
     * @throws NoDriverException when no driver is loaded
     * @throws IOException when the driver's files cannot be read or understood
     */
    public static HostDriver read(Host host) throws IOException {
        return new HostDriver(readVersion(host), readGpus(host));
    }

    /**
     * Returns the GPUs of a host; none when no driver is loaded.
     *
     * @throws IOException when the driver's files cannot be read or understood
     */
    public static List<Gpu> gpusIfAny(Host host) throws IOException {
        try {
            return read(host).gpus();
        } catch (NoDriverException e) {
            return List.of();
        }
    }

    /** Whether the driver's kernel module is loaded. */
    public static boolean isLoaded(Host host) throws IOException {
        return Files.exists(host.resolve(PROC_VERSION)) || Files.exists(host.resolve(SYS_VERSION));
    }

    /**
     * Returns what is another value after each load of the driver's kernel module.
     *
     * @throws NoDriverException when no driver is loaded
     */
    public static String load(Host host) throws IOException {
        Path module = host.resolve("/sys/module/nvidia");
        try {
            // The kernel gives the directories of sysfs ever new numbers.
            return Files.getAttribute(module, "unix:ino").toString();
        } catch (NoSuchFileException e) {
            return readVersion(host).text();
        }
    }

    /**
     * Returns the version alone, which takes one read; {@link #read} takes another for every GPU.
     *
     * @throws NoDriverException when no driver is loaded
     */
    public static DriverVersion readVersion(Host host) throws IOException {
        Path proc = host.resolve(PROC_VERSION);
        if (Files.exists(proc)) {
            return parseVersion(KernelText.read(proc))
                    .orElseThrow(() ->
                            new NoDriverException(
                                    proc + " names no driver version",
                                    "load NVIDIA's kernel module"));
        }
        Path sys = host.resolve(SYS_VERSION);
        if (Files.exists(sys)) {
            String text = KernelText.read(sys).strip();
            try {
                return DriverVersion.parse(text);
            } catch (IllegalArgumentException e) {
                throw new NoDriverException(
                        sys + " holds " + e.getMessage(), "load NVIDIA's kernel module", e);
            }
        }
        throw new NoDriverException(
                "no NVIDIA driver is loaded: neither " + proc + " nor " + sys + " is there",
                MissingDriver.remedy(host));
    }

    /** Parses the version in the text of {@code /proc/driver/nvidia/version}. */
    static Optional<DriverVersion> parseVersion(String text) {
        Matcher matcher = MODULE_VERSION.matcher(text);
        if (!matcher.find()) {
            return Optional.empty();
        }
        try {
            return Optional.of(DriverVersion.parse(matcher.group(1)));
        } catch (IllegalArgumentException e) {
            return Optional.empty();
        }
    }

    /**
     * Whether the kernel has switched off a GPU until something uses it, as on notebooks; false
     * where it does not say so.
     */
    public static boolean isAsleep(Host host, String pciAddress) {
        try {
            Path device = host.resolve("/sys/bus/pci/devices/" + pciAddress);
            String status = KernelText.read(device.resolve("power/runtime_status"));
            return status.strip().equals("suspended");
        } catch (IOException e) {
            return false;
        }
    }

    private static List<Gpu> readGpus(Host host) throws IOException {
        Path directory = host.resolve("/proc/driver/nvidia/gpus");
        List<Path> found = new ArrayList<>();
        try (var entries = Files.newDirectoryStream(directory)) {
            for (Path entry : entries) {
                if (PCI_ADDRESS.matcher(addressOf(entry)).matches()) {
                    found.add(entry);
                }
            }
        } catch (NoSuchFileException e) {
            return List.of();
        }
        // A longer domain is a larger number: 10000 comes after e000.
        found.sort(
                Comparator.comparingInt((Path gpu) -> addressOf(gpu).length())
                        .thenComparing(HostDriver::addressOf));
        List<Gpu> gpus = new ArrayList<>();
        for (Path gpu : found) {
            gpu(gpus.size(), gpu).ifPresent(gpus::add);
        }
        MigParts parts = new MigParts(host);
        return gpus.stream().flatMap(gpu -> parts.of(gpu).stream()).toList();
    }

    /** Skips a GPU that cannot be read, so that the others stay usable. */
    private static Optional<Gpu> gpu(int index, Path directory) {
        String address = addressOf(directory);
        try {
            String text = KernelText.read(directory.resolve("information"));
            return EXCLUDED.matcher(text).find()
                    ? Optional.empty()
                    : Optional.of(parseGpu(index, address, text));
        } catch (IOException e) {
            return Optional.of(Gpu.unknown(index, address, FileErrors.describe(e)));
        }
    }

    private static String addressOf(Path gpu) {
        return gpu.getFileName().toString().toLowerCase(Locale.ROOT);
    }

    /** Reads the lines {@code Key: value} of {@code gpus/<address>/information}. */
    static Gpu parseGpu(int index, String pciAddress, String text) {
        Map<String, String> facts = new HashMap<>();
        for (String line : text.split("\n")) {
            int colon = line.indexOf(':');
            if (colon > 0) {
                facts.put(line.substring(0, colon).strip(), line.substring(colon + 1).strip());
            }
        }
        String uuid = facts.getOrDefault("GPU UUID", "");
        if (!UUID.matcher(uuid).matches()) {
            return Gpu.unknown(
                    index,
                    pciAddress,
                    "the driver shows no UUID for it (found " + Quote.quoted(uuid) + ")");
        }
        String minor = facts.getOrDefault("Device Minor", "");
        if (!minor.matches("[0-9]{1,3}")) {
            return Gpu.unknown(
                    index,
                    pciAddress,
                    "the driver shows no device minor for it (found " + Quote.quoted(minor) + ")");
        }
        String model = facts.getOrDefault("Model", "unknown");
        return new Gpu(index, uuid, Integer.parseInt(minor), pciAddress, model);
    }
}
