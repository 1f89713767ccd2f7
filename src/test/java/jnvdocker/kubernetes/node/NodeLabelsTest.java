package jnvdocker.kubernetes.node;

import static org.junit.jupiter.api.Assertions.assertEquals;

import jnvdocker.host.Gpu;
import jnvdocker.host.HostDriver;
import jnvdocker.host.Part;
import jnvdocker.labels.CudaVersion;
import jnvdocker.labels.DriverVersion;
import jnvdocker.nvml.GpuFacts;
import jnvdocker.nvml.GpuFacts.ComputeCapability;
import jnvdocker.nvml.GpuMonitor.Reading;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.time.Instant;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;

/** The names and values that NVIDIA's GPU feature discovery has for the same GPUs. */
class NodeLabelsTest {
    private static final String A100 = "NVIDIA A100-SXM4-40GB";
    private static final Optional<CudaVersion> CUDA = Optional.of(new CudaVersion(12, 2));

    private final Map<String, Reading> readings = new HashMap<>();

    private static String address(int index) {
        return "0000:0" + index + ":00.0";
    }

    private static Gpu gpu(int index, String model) {
        return new Gpu(index, "GPU-" + index, index, address(index), model);
    }

    private static HostDriver driver(String version, Gpu... gpus) {
        return new HostDriver(DriverVersion.parse(version), Arrays.asList(gpus));
    }

    private void reported(int index, String model, ComputeCapability capability, long mib) {
        GpuFacts facts =
                new GpuFacts(
                        "GPU-" + index,
                        model,
                        Optional.empty(),
                        Optional.empty(),
                        Optional.of(capability),
                        OptionalInt.empty(),
                        OptionalLong.of(mib << 20),
                        OptionalLong.empty(),
                        OptionalInt.empty(),
                        new GpuFacts.Clocks(
                                OptionalInt.empty(), OptionalInt.empty(), OptionalInt.empty()),
                        new GpuFacts.PcieLink(OptionalInt.empty(), OptionalInt.empty()),
                        new GpuFacts.Chip(OptionalInt.empty(), OptionalInt.empty()));
        readings.put(
                address(index),
                new Reading(Instant.EPOCH, Optional.of(facts), Optional.empty(), Optional.empty()));
    }

    private static String shown(NodeLabels labels) {
        return String.join(
                "\n",
                labels.all().entrySet().stream()
                        .map(it -> it.getKey() + "=" + it.getValue())
                        .toList());
    }

    @Test
    void driverModelAndFactsAreLabels() {
        reported(0, A100, new ComputeCapability(8, 0), 40960);
        NodeLabels labels =
                new NodeLabels(driver("535.104.05", gpu(0, A100), gpu(1, A100)), CUDA, readings);
        assertEquals(
                """
                nvidia.com/cuda.driver-version.full=535.104.05
                nvidia.com/cuda.driver-version.major=535
                nvidia.com/cuda.driver-version.minor=104
                nvidia.com/cuda.driver-version.revision=05
                nvidia.com/cuda.driver.major=535
                nvidia.com/cuda.driver.minor=104
                nvidia.com/cuda.driver.rev=05
                nvidia.com/cuda.runtime-version.full=12.2
                nvidia.com/cuda.runtime-version.major=12
                nvidia.com/cuda.runtime-version.minor=2
                nvidia.com/cuda.runtime.major=12
                nvidia.com/cuda.runtime.minor=2
                nvidia.com/gpu.compute.major=8
                nvidia.com/gpu.compute.minor=0
                nvidia.com/gpu.count=2
                nvidia.com/gpu.family=ampere
                nvidia.com/gpu.memory=40960
                nvidia.com/gpu.product=NVIDIA-A100-SXM4-40GB\
                """
                        .stripIndent(),
                shown(labels));
        assertEquals(List.of(), labels.severalModels());
    }

    @Test
    void unknownValuesAreLeftOutAndARevisionMayBeEmpty() {
        assertEquals(
                """
                nvidia.com/cuda.driver-version.full=550.120
                nvidia.com/cuda.driver-version.major=550
                nvidia.com/cuda.driver-version.minor=120
                nvidia.com/cuda.driver-version.revision=
                nvidia.com/cuda.driver.major=550
                nvidia.com/cuda.driver.minor=120
                nvidia.com/cuda.driver.rev=
                nvidia.com/gpu.count=1
                nvidia.com/gpu.product=Tesla-T4\
                """,
                shown(
                        new NodeLabels(
                                driver("550.120", gpu(0, "Tesla T4")),
                                Optional.empty(),
                                readings)));
        assertEquals(7, new NodeLabels(driver("550.120"), Optional.empty(), readings).all().size());
    }

    @Test
    void severalModelsAreDescribedByTheMostFrequent() {
        reported(0, "Tesla T4", new ComputeCapability(7, 5), 15360);
        reported(1, A100, new ComputeCapability(8, 0), 40960);
        NodeLabels labels =
                new NodeLabels(
                        driver("550.120", gpu(0, "Tesla T4"), gpu(1, A100), gpu(2, A100)),
                        CUDA,
                        readings);
        assertEquals("2", labels.all().get("nvidia.com/gpu.count"));
        assertEquals("40960", labels.all().get("nvidia.com/gpu.memory"));
        assertEquals(List.of(A100, "Tesla T4"), labels.severalModels());
    }

    @Test
    void instancesCountAsTheGpuThatTheyAreOf() {
        reported(0, A100, new ComputeCapability(8, 0), 40960);
        Gpu one = instance(0);
        Gpu two = instance(1);
        NodeLabels labels = new NodeLabels(driver("550.120", one, two), CUDA, readings);
        assertEquals("1", labels.all().get("nvidia.com/gpu.count"));
        assertEquals("NVIDIA-A100-SXM4-40GB", labels.all().get("nvidia.com/gpu.product"));
    }

    private static Gpu instance(int number) {
        return new Gpu(
                0,
                "MIG-" + number,
                0,
                address(0),
                A100 + " MIG 1g.5gb",
                Optional.empty(),
                Optional.of(
                        new Part("GPU-0", number, number, 0, number, number, Optional.empty())));
    }

    @ParameterizedTest
    @CsvSource({
        "NVIDIA GeForce RTX 2080 Ti, NVIDIA-GeForce-RTX-2080-Ti",
        "'  GRID  T4-8Q (vGPU)  ', GRID-T4-8Q-vGPU",
        "'NVIDIA $(reboot);`x`', NVIDIA-rebootx",
        "'_-Ä-_', ",
    })
    void productIsAValidValue(String model, String value) {
        NodeLabels labels =
                new NodeLabels(driver("550.120", gpu(0, model)), Optional.empty(), readings);
        assertEquals(value, labels.all().get("nvidia.com/gpu.product"));
    }

    @Test
    void longProductIsCutAndEndsWithALetterOrDigit() {
        String model = "NVIDIA " + "x".repeat(55) + " GPU";
        NodeLabels labels =
                new NodeLabels(driver("550.120", gpu(0, model)), Optional.empty(), readings);
        assertEquals("NVIDIA-" + "x".repeat(55), labels.all().get("nvidia.com/gpu.product"));
    }

    @ParameterizedTest
    @CsvSource({
        "3,5,kepler",
        "6,1,pascal",
        "7,0,volta",
        "7,5,turing",
        "8,6,ampere",
        "8,9,ada-lovelace",
        "9,0,hopper",
        "10,0,blackwell",
        "12,0,blackwell",
        "13,0,",
    })
    void familyFollowsFromTheCapability(int major, int minor, String family) {
        reported(0, A100, new ComputeCapability(major, minor), 1);
        NodeLabels labels = new NodeLabels(driver("550.120", gpu(0, A100)), CUDA, readings);
        assertEquals(family, labels.all().get("nvidia.com/gpu.family"));
    }
}
