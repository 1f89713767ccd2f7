package jnvdocker.tests.world;

import jnvdocker.host.Gpu;
import jnvdocker.host.Host;
import jnvdocker.host.HostDriver;
import jnvdocker.labels.CudaVersion;
import jnvdocker.nvml.GpuHealth;
import jnvdocker.nvml.GpuMonitor;
import jnvdocker.nvml.GpuMonitor.Reading;
import jnvdocker.nvml.GpuMonitor.Reading.Answer;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.locks.LockSupport;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A host whose kernel module shows the GPUs of a machine of tests/fake-nvml, without the driver's
 * files.
 */
public final class MachineHost {
    private static final Pattern GPU = Pattern.compile("gpu (\\S+)");

    private final Host host;
    private final FakeNvml nvml;
    private final Optional<CudaVersion> cuda;

    private MachineHost(Host host, FakeNvml nvml, Optional<CudaVersion> cuda) {
        this.host = host;
        this.nvml = nvml;
        this.cuda = cuda;
    }

    /**
     * @param directory a directory for it
     * @param machine a file of tests/fake-nvml/machines, without its ending
     */
    public static MachineHost of(Path directory, String machine) throws IOException {
        Path root = Files.createDirectories(directory.resolve("root"));
        String[] parts =
                Files.readString(
                                Project.root()
                                        .resolve("tests/fake-nvml/machines")
                                        .resolve(machine + ".txt"))
                        .split("(?m)^(?=gpu )");
        write(
                root.resolve("proc/driver/nvidia/version"),
                "NVRM version: NVIDIA UNIX x86_64 Kernel Module  "
                        + value(parts[0], "driver").orElseThrow()
                        + "  Thu Jan  1 00:00:00 UTC 2026\n");
        for (int i = 1; i < parts.length; i++) {
            gpu(root, parts[i], i - 1);
        }
        write(root.resolve("dev/nvidia-uvm-tools"), "");
        return new MachineHost(
                Host.at(root),
                FakeNvml.in(directory, machine),
                value(parts[0], "cuda")
                        .map(Integer::parseInt)
                        .map(cuda -> new CudaVersion(cuda / 1000, cuda % 1000 / 10)));
    }

    /** A GPU that has fallen off the bus is shown as it was before. */
    private static void gpu(Path root, String text, int index) throws IOException {
        Matcher address = GPU.matcher(text);
        if (!address.lookingAt()) {
            throw new AssertionError(text);
        }
        write(
                root.resolve("proc/driver/nvidia/gpus/" + address.group(1) + "/information"),
                "Model: \t\t %s\nGPU UUID: \t %s\nDevice Minor: \t %d\n"
                        .formatted(
                                value(text, "name").orElse("NVIDIA A100-SXM4-40GB"),
                                value(text, "uuid")
                                        .orElse("GPU-5c1a1003-61a1-4d0c-9a55-2b6d2c3c0001"),
                                index));
        Optional<String> node = value(text, "node");
        if (node.isPresent()) {
            write(
                    root.resolve("sys/bus/pci/devices/" + address.group(1) + "/numa_node"),
                    node.get() + "\n");
        }
    }

    private static Optional<String> value(String text, String key) {
        return text.lines()
                .filter(line -> line.startsWith(key + " "))
                .map(line -> line.substring(key.length() + 1))
                .findFirst();
    }

    private static void write(Path file, String text) throws IOException {
        Files.createDirectories(file.getParent());
        Files.writeString(file, text);
    }

    public Host host() {
        return host;
    }

    /** What its driver would say; empty when it does not. */
    public Optional<CudaVersion> cuda() {
        return cuda;
    }

    /** Returns a monitor that has facts about every GPU. */
    public GpuMonitor monitor() throws IOException {
        List<Gpu> gpus = HostDriver.read(host).gpus();
        GpuMonitor monitor =
                new GpuMonitor(
                                new GpuMonitor.Source() {
                                    @Override
                                    public Optional<Path> library() {
                                        return Optional.of(nvml.library());
                                    }

                                    @Override
                                    public List<Gpu> gpus() {
                                        return gpus;
                                    }

                                    @Override
                                    public String load() {
                                        return "1";
                                    }
                                },
                                GpuMonitor.Pace.USUAL,
                                GpuHealth.keptIn(host.resolve("/gpu-errors"), "a boot"))
                        .start();
        long deadline = System.nanoTime() + Duration.ofSeconds(20).toNanos();
        while (!isComplete(monitor, gpus.size())) {
            if (System.nanoTime() > deadline) {
                throw new AssertionError("NVML does not answer");
            }
            LockSupport.parkNanos(5_000_000);
        }
        return monitor;
    }

    /** Has an answer about each GPU, and knows how near those that work are to each other. */
    private static boolean isComplete(GpuMonitor monitor, int gpus) {
        Map<String, Reading> readings = monitor.readings();
        long given = readings.values().stream().filter(it -> it.answer() == Answer.GIVEN).count();
        long work = readings.values().stream().filter(it -> it.trouble().isEmpty()).count();
        return given == gpus && monitor.topologies().size() == work * (work - 1) / 2;
    }
}
