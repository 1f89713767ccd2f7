package jnvdocker.kubernetes.node;

import jnvdocker.host.Gpu;
import jnvdocker.host.HostDriver;
import jnvdocker.labels.CudaVersion;
import jnvdocker.labels.DriverVersion;
import jnvdocker.nvml.GpuFacts;
import jnvdocker.nvml.GpuFigures;
import jnvdocker.nvml.GpuMonitor.Reading;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/**
 * A node's labels, under the names that NVIDIA's GPU feature discovery gives them. What is not
 * known has none.
 */
final class NodeLabels {
    private static final String DOMAIN = "nvidia.com/";
    private static final int LONGEST = 63;
    private static final int BYTES_OF_MIB = 1 << 20;

    private final Map<String, String> labels = new TreeMap<>();
    private final List<Model> models;

    /** The GPUs of a host that have the same name; an instance counts as the GPU that it is of. */
    private record Model(String name, List<Whole> gpus) {}

    /** A whole GPU, with what NVML has reported about it. */
    private record Whole(String model, Optional<Reading> reading) {}

    /**
     * @param readings what NVML has reported, by PCI address
     */
    NodeLabels(HostDriver driver, Optional<CudaVersion> cuda, Map<String, Reading> readings) {
        List<Whole> gpus = wholes(driver.gpus(), readings);
        models = models(gpus);
        addDriver(driver.version());
        cuda.ifPresent(this::addCuda);
        if (!models.isEmpty()) {
            addModel(models.getFirst());
            addMig(gpus);
        }
    }

    /** The labels by name. */
    Map<String, String> all() {
        return labels;
    }

    /** The models of a host that has several: the labels describe the first alone. */
    List<String> severalModels() {
        return models.size() < 2 ? List.of() : models.stream().map(Model::name).toList();
    }

    private static List<Whole> wholes(List<Gpu> gpus, Map<String, Reading> readings) {
        Map<String, Whole> wholes = new LinkedHashMap<>();
        for (Gpu gpu : gpus) {
            if (gpu.isIdentified()) {
                Optional<Reading> reading = Optional.ofNullable(readings.get(gpu.pciAddress()));
                String model = reading.flatMap(Reading::facts).map(GpuFacts::model).orElse("");
                wholes.putIfAbsent(
                        gpu.pciAddress(),
                        new Whole(
                                gpu.part().isEmpty() || model.isEmpty() ? gpu.model() : model,
                                reading));
            }
        }
        return List.copyOf(wholes.values());
    }

    /** The most frequent first; of those that are equal, the one with the lowest index. */
    private static List<Model> models(List<Whole> gpus) {
        Map<String, List<Whole>> byName = new LinkedHashMap<>();
        gpus.forEach(gpu -> byName.computeIfAbsent(gpu.model(), _ -> new ArrayList<>()).add(gpu));
        List<Model> models = new ArrayList<>();
        byName.forEach((name, its) -> models.add(new Model(name, its)));
        models.sort(Comparator.comparingInt(model -> -model.gpus().size()));
        return models;
    }

    private void addDriver(DriverVersion version) {
        List<String> numbers = List.of(version.text().split("\\.", 3));
        String revision = numbers.size() > 2 ? numbers.get(2) : "";
        add("cuda.driver-version.full", version.text());
        add("cuda.driver-version.major", numbers.get(0));
        add("cuda.driver-version.minor", numbers.get(1));
        add("cuda.driver-version.revision", revision);
        add("cuda.driver.major", numbers.get(0));
        add("cuda.driver.minor", numbers.get(1));
        add("cuda.driver.rev", revision);
    }

    private void addCuda(CudaVersion version) {
        String major = String.valueOf(version.major());
        String minor = String.valueOf(version.minor());
        add("cuda.runtime-version.full", version.toString());
        add("cuda.runtime-version.major", major);
        add("cuda.runtime-version.minor", minor);
        add("cuda.runtime.major", major);
        add("cuda.runtime.minor", minor);
    }

    private void addModel(Model model) {
        add("gpu.product", product(model.name()));
        add("gpu.count", String.valueOf(model.gpus().size()));
        Optional<GpuFacts> facts =
                model.gpus().stream()
                        .flatMap(gpu -> gpu.reading().stream())
                        .flatMap(reading -> reading.facts().stream())
                        .findFirst();
        if (facts.isEmpty()) {
            return;
        }
        facts.get()
                .memory()
                .ifPresent(bytes -> add("gpu.memory", String.valueOf(bytes / BYTES_OF_MIB)));
        facts.get()
                .computeCapability()
                .ifPresent(capability -> {
                    add("gpu.compute.major", String.valueOf(capability.major()));
                    add("gpu.compute.minor", String.valueOf(capability.minor()));
                    family(capability).ifPresent(family -> add("gpu.family", family));
                });
    }

    /** Only a GPU that can be divided reports whether it is; others may not have answered yet. */
    private void addMig(List<Whole> gpus) {
        List<Optional<GpuFigures>> figures =
                gpus.stream().map(gpu -> gpu.reading().flatMap(Reading::figures)).toList();
        boolean capable = figures.stream().anyMatch(it -> it.flatMap(GpuFigures::mig).isPresent());
        if (capable || figures.stream().allMatch(Optional::isPresent)) {
            add("mig.capable", String.valueOf(capable));
        }
    }

    private static Optional<String> family(GpuFacts.ComputeCapability capability) {
        return switch (capability.major()) {
            case 3 -> Optional.of("kepler");
            case 5 -> Optional.of("maxwell");
            case 6 -> Optional.of("pascal");
            case 7 -> Optional.of(capability.minor() < 5 ? "volta" : "turing");
            case 8 -> Optional.of(capability.minor() < 9 ? "ampere" : "ada-lovelace");
            case 9 -> Optional.of("hopper");
            case 10, 12 -> Optional.of("blackwell");
            default -> Optional.empty();
        };
    }

    /** Returns {@code NVIDIA-A100-SXM4-40GB}. */
    private static String product(String model) {
        return model.replaceAll("[^A-Za-z0-9_. -]", "").strip().replaceAll(" +", "-");
    }

    /** A label's value is at most 63 characters, and has a letter or digit at each end. */
    private void add(String name, String value) {
        String shortened = value.substring(0, Math.min(value.length(), LONGEST));
        String valid = shortened.replaceAll("^[^A-Za-z0-9]+|[^A-Za-z0-9]+$", "");
        if (value.isEmpty() || !valid.isEmpty()) {
            labels.put(DOMAIN + name, valid);
        }
    }
}
