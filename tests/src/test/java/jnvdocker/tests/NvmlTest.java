package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.host.Part;
import jnvdocker.labels.CudaVersion;
import jnvdocker.nvml.GpuFacts;
import jnvdocker.nvml.GpuFacts.Architecture;
import jnvdocker.nvml.GpuFacts.Brand;
import jnvdocker.nvml.GpuFigures;
import jnvdocker.nvml.GpuFigures.ComputeMode;
import jnvdocker.nvml.GpuFigures.GpuProcess;
import jnvdocker.nvml.GpuFigures.Mig;
import jnvdocker.nvml.GpuFigures.MigInstance;
import jnvdocker.nvml.Nvml;
import jnvdocker.nvml.NvmlException;
import jnvdocker.nvml.NvmlGpu;
import jnvdocker.tests.world.FakeNvml;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.stream.IntStream;

/** NVML's answers become facts and figures, field by field, whatever a GPU does not report. */
class NvmlTest {
    @TempDir private Path directory;

    private FakeNvml fake;

    private Nvml open(String machine) throws Exception {
        fake = FakeNvml.in(directory, machine);
        return Nvml.open(fake.library());
    }

    @Test
    void gpuTellsAllOfItself() throws Exception {
        try (Nvml nvml = open("a100x8")) {
            assertEquals("535.261.03", nvml.driverVersion());
            assertEquals(Optional.of(new CudaVersion(12, 2)), nvml.cudaVersion());
            NvmlGpu gpu = nvml.gpu("0000:0f:00.0");
            GpuFacts facts = gpu.facts();
            assertEquals("GPU-5c1a1003-61a1-4d0c-9a55-2b6d2c3c0001", facts.uuid());
            assertEquals("NVIDIA A100-SXM4-40GB", facts.model());
            assertEquals(Optional.of(Brand.NVIDIA), facts.brand());
            assertEquals(Optional.of(Architecture.AMPERE), facts.architecture());
            assertEquals("8.0", facts.computeCapability().orElseThrow().toString());
            assertEquals(OptionalInt.of(1), facts.minor());
            assertEquals(OptionalLong.of(40L << 30), facts.memory());
            assertEquals(OptionalLong.of(64L << 30), facts.bar1());
            assertEquals(OptionalInt.of(400_000), facts.powerLimit());
            assertEquals(OptionalInt.of(1215), facts.maxClocks().memory());
            assertEquals(OptionalInt.of(16), facts.maxLink().width());
            assertEquals(OptionalInt.of(6912), facts.chip().cores());
            assertEquals(OptionalInt.of(5120), facts.chip().memoryBus());
            GpuFigures figures = gpu.figures();
            assertEquals(OptionalInt.of(97), figures.utilization().gpu());
            assertEquals(OptionalInt.of(41), figures.utilization().memory());
            assertEquals(OptionalInt.of(0), figures.utilization().encoder());
            assertEquals(36L << 30, figures.memory().orElseThrow().used());
            assertEquals(1L << 20, figures.bar1().orElseThrow().used());
            assertEquals(OptionalInt.of(391_250), figures.power());
            assertEquals(OptionalInt.of(61), figures.temperature());
            assertEquals(OptionalInt.empty(), figures.fan());
            assertEquals(OptionalInt.of(1410), figures.clocks().sm());
            assertEquals(OptionalInt.of(4), figures.link().generation());
            assertEquals(OptionalInt.of(12_000), figures.throughput().sent());
            assertEquals(OptionalInt.of(340_000), figures.throughput().received());
            assertEquals(Optional.of(new Mig(false, List.of())), figures.mig());
            assertEquals(OptionalLong.of(0), figures.throttling());
            assertEquals(Optional.of(true), figures.errors().ecc());
            assertEquals(OptionalLong.of(0), figures.errors().uncorrected());
            assertEquals(OptionalInt.of(0), figures.errors().remappedRows());
            assertFalse(figures.errors().retirementPending());
            assertEquals(
                    List.of(
                            new GpuProcess(
                                    4712,
                                    OptionalLong.of(38_000_000_000L),
                                    OptionalInt.empty(),
                                    false)),
                    figures.processes());
            assertEquals(Optional.of(ComputeMode.DEFAULT), figures.computeMode());
            assertEquals(Optional.of(true), figures.persistent());
        }
    }

    @Test
    void oldDriverTellsLess() throws Exception {
        try (Nvml nvml = open("k40x2")) {
            assertEquals(Optional.empty(), nvml.cudaVersion());
            NvmlGpu gpu = nvml.gpu("0000:83:00.0");
            assertEquals(Optional.empty(), gpu.facts().architecture());
            assertEquals(Optional.of(Brand.TESLA), gpu.facts().brand());
            assertEquals(OptionalInt.of(3), gpu.figures().errors().retiredPages());
            assertEquals(OptionalInt.empty(), gpu.figures().errors().remappedRows());
            assertEquals(Optional.of(ComputeMode.EXCLUSIVE_PROCESS), gpu.figures().computeMode());
            assertEquals(Optional.of(false), gpu.figures().persistent());
            assertEquals(
                    Optional.of(new GpuFigures.Memory(12_079_136_768L, 65_536_000)),
                    gpu.figures().memory());
        }
    }

    /** As nvidia-smi, which shows an unused H100 with 0 MiB. */
    @Test
    void memoryThatTheDriverKeepsIsNotUsed() throws Exception {
        try (Nvml nvml = open("h100x4")) {
            fake.change(
                    text -> text.replace("85520809984 571473920", "85520809984 1048576 503316480"));
            assertEquals(
                    Optional.of(new GpuFigures.Memory(85_520_809_984L, 1 << 20)),
                    nvml.gpu("0000:1b:00.0").figures().memory());
        }
    }

    @Test
    void virtualMachineHidesMore() throws Exception {
        try (Nvml nvml = open("t4")) {
            GpuFacts facts = nvml.gpu("0000:00:1e.0").facts();
            assertEquals(OptionalLong.empty(), facts.bar1());
            assertEquals(OptionalInt.empty(), facts.maxLink().generation());
            assertEquals("7.5", facts.computeCapability().orElseThrow().toString());
        }
    }

    @Test
    void processThatDrawsAndComputesIsOne() throws Exception {
        try (Nvml nvml = open("mixed")) {
            List<GpuProcess> processes = nvml.gpu("0000:01:00.0").figures().processes();
            assertEquals(
                    List.of(
                            new GpuProcess(
                                    2340, OptionalLong.of(199_229_440), OptionalInt.empty(), false),
                            new GpuProcess(
                                    2101, OptionalLong.of(402_653_184), OptionalInt.empty(), true)),
                    processes);
        }
    }

    @Test
    void processesAreManyOrTheirMemoryIsUnknown() throws Exception {
        try (Nvml nvml = open("t4")) {
            StringBuilder lines = new StringBuilder("process 1\n");
            IntStream.range(2, 200).forEach(pid -> lines.append("process " + pid + " 5\n"));
            fake.add("0000:00:1e.0", lines.toString());
            List<GpuProcess> processes = nvml.gpu("0000:00:1e.0").figures().processes();
            assertEquals(199, processes.size());
            assertEquals(
                    new GpuProcess(1, OptionalLong.empty(), OptionalInt.empty(), false),
                    processes.getFirst());
            assertEquals(
                    new GpuProcess(199, OptionalLong.of(5), OptionalInt.empty(), false),
                    processes.getLast());
        }
    }

    @Test
    void latestSampleOfAProcessCounts() throws Exception {
        try (Nvml nvml = open("a100x8")) {
            fake.add("0000:07:00.0", "process 5 1\nsamples\nsample 4711 20\nsample 4711 95");
            assertEquals(
                    List.of(
                            new GpuProcess(5, OptionalLong.of(1), OptionalInt.of(0), false),
                            new GpuProcess(
                                    4711,
                                    OptionalLong.of(38_000_000_000L),
                                    OptionalInt.of(95),
                                    false)),
                    nvml.gpu("0000:07:00.0").figures().processes());
            fake.change(text -> text.replaceAll("\nsample 4711 \\d+", ""));
            assertEquals(
                    List.of(OptionalInt.of(0), OptionalInt.of(0)),
                    nvml.gpu("0000:07:00.0").figures().processes().stream()
                            .map(GpuProcess::utilization)
                            .toList());
        }
    }

    @Test
    void instancesAreThoseOfTheirPlaces() throws Exception {
        try (Nvml nvml = open("h100x4")) {
            String address = "0000:1b:00.0";
            fake.add(
                    address,
                    "mig-mode 1 0\n"
                            + "mig 0 1 0 MIG-0a1b 42949672960 1048576 3g.40gb\n"
                            + "mig 2 5 1 MIG-0a1c 10737418240 0 1g.10gb");
            assertEquals(
                    Optional.of(
                            new Mig(
                                    true,
                                    List.of(
                                            new MigInstance(
                                                    "MIG-0a1b",
                                                    0,
                                                    1,
                                                    0,
                                                    "NVIDIA H100 80GB HBM3 MIG 3g.40gb",
                                                    Optional.of(
                                                            new GpuFigures.Memory(
                                                                    40L << 30, 1L << 20)),
                                                    Optional.of(new Part.Slices(3, 7))),
                                            new MigInstance(
                                                    "MIG-0a1c",
                                                    2,
                                                    5,
                                                    1,
                                                    "NVIDIA H100 80GB HBM3 MIG 1g.10gb",
                                                    Optional.of(
                                                            new GpuFigures.Memory(10L << 30, 0)),
                                                    Optional.of(new Part.Slices(1, 7)))))),
                    nvml.gpu(address).figures().mig());
            assertEquals(OptionalLong.of(85_520_809_984L), nvml.gpu(address).facts().memory());
        }
    }

    @Test
    void fieldsFailAlone() throws Exception {
        try (Nvml nvml = open("sick")) {
            GpuFigures hot = nvml.gpu("0000:4e:00.0").figures();
            assertEquals(OptionalInt.empty(), hot.power());
            assertEquals(OptionalInt.of(94), hot.temperature());
            assertEquals(OptionalLong.of(0x40), hot.throttling());
            assertEquals(OptionalLong.of(3), hot.errors().uncorrected());
            assertEquals(
                    new GpuFigures.Places(
                            OptionalLong.of(0), OptionalLong.of(1), OptionalLong.of(2)),
                    hot.errors().uncorrectedIn());
            assertEquals(OptionalInt.of(6), hot.errors().remappedRows());
            assertTrue(hot.errors().retirementPending());
            assertTrue(hot.errors().remappingFailed());
        }
    }

    @Test
    void lostGpuHarmsNoOther() throws Exception {
        try (Nvml nvml = open("sick")) {
            NvmlGpu lost = nvml.gpu("0000:0f:00.0");
            NvmlException error = assertThrows(NvmlException.class, lost::facts);
            assertEquals("GPU is lost", error.getMessage());
            assertTrue(error.needsReset());
            assertThrows(NvmlException.class, lost::figures);
            NvmlGpu stuck = nvml.gpu("0000:47:00.0");
            assertEquals("GPU-5c1a2006-61a1-4d0c-9a55-2b6d2c3c0002", stuck.facts().uuid());
            error = assertThrows(NvmlException.class, stuck::figures);
            assertEquals("GPU requires reset", error.getMessage());
            NvmlGpu sound = nvml.gpu("0000:07:00.0");
            assertEquals(OptionalInt.of(27), sound.figures().temperature());
            fake.change(text -> text.substring(0, text.indexOf("gpu 0000:07")));
            assertEquals(
                    "GPU is lost", assertThrows(NvmlException.class, sound::figures).getMessage());
            assertEquals(
                    "Not Found",
                    assertThrows(NvmlException.class, () -> nvml.gpu("0000:07:00.0")).getMessage());
        }
    }

    @Test
    void upgradedDriverEndsTheSession() throws Exception {
        try (Nvml nvml = open("t4")) {
            fake.add("0000:00:1e.0", "error nvmlDeviceGetTemperature 18");
            NvmlGpu gpu = nvml.gpu("0000:00:1e.0");
            assertTrue(assertThrows(NvmlException.class, gpu::figures).isOfTheDriver());
            fake.unload();
            assertTrue(assertThrows(NvmlException.class, gpu::figures).isOfTheDriver());
        }
        assertTrue(
                assertThrows(NvmlException.class, () -> Nvml.open(fake.library())).isOfTheDriver());
    }
}
