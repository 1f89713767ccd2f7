package jnvdocker.host;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;

/** GPU 0 has the minor 1, and GPU 1 the minor 0: the driver's files are named by minors. */
class MigPartsTest {
    private static final String WHOLE = "GPU-5c1a1003-1d2c-4e5f-8a9b-012345678901";
    private static final String ADDRESS = "0000:07:00.0";
    private static final String MODEL = "NVIDIA A100-SXM4-40GB MIG 3g.20gb";
    private static final Optional<Part.Slices> SLICES = Optional.of(new Part.Slices(3, 7));
    private static final MigMemory.Instance FIRST =
            new MigMemory.Instance("MIG-22d5a1c4", 0, 2, 0, MODEL, SLICES);
    private static final MigMemory.Instance SECOND =
            new MigMemory.Instance("MIG-8b1f3f0a", 1, 1, 1, MODEL, Optional.empty());

    @TempDir Path root;
    private TestingProc proc;
    private Host host;

    @BeforeEach
    void makeHost() throws IOException {
        proc =
                new TestingProc(root)
                        .version("NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.1");
        proc.gpu(ADDRESS, TestingProc.information(WHOLE, 1));
        proc.gpu("0000:0f:00.0", TestingProc.information("GPU-77777777-1d2c", 0));
        // A GPU without MIG mode has this directory, too.
        Files.createDirectories(proc.path("/proc/driver/nvidia/capabilities/gpu0/mig"));
        host = proc.host();
    }

    private void instance(int gpuInstance, int computeInstance, int minor) throws IOException {
        String directory = "/proc/driver/nvidia/capabilities/gpu1/mig/gi" + gpuInstance;
        proc.file(directory + "/access", access(minor));
        proc.file(directory + "/ci" + computeInstance + "/access", access(minor + 1));
    }

    private static String access(int minor) {
        return "DeviceFileMinor: " + minor + "\nDeviceFileMode: 292\nDeviceFileModify: 1\n";
    }

    private void received(boolean enabled, MigMemory.Instance... instances) {
        host.mig().report(ADDRESS, new MigMemory.Mode(enabled, List.of(instances)));
    }

    private List<Gpu> gpus() throws IOException {
        return HostDriver.read(host).gpus();
    }

    private String trouble() throws IOException {
        return gpus().getFirst().trouble().orElseThrow().what();
    }

    @Test
    void instancesAreInThePlaceOfTheirGpu() throws IOException {
        instance(1, 1, 12);
        instance(2, 0, 21);
        received(true, SECOND, FIRST);
        List<Gpu> gpus = gpus();
        assertEquals(List.of("0:0", "0:1", "1"), gpus.stream().map(Gpu::number).toList());
        assertEquals(
                new Gpu(
                        0,
                        "MIG-22d5a1c4",
                        1,
                        ADDRESS,
                        MODEL,
                        Optional.empty(),
                        Optional.of(new Part(WHOLE, 0, 2, 0, 21, 22, SLICES))),
                gpus.getFirst());
        assertEquals(
                Optional.of(new Part(WHOLE, 1, 1, 1, 12, 13, Optional.empty())),
                gpus.get(1).part());
        assertTrue(gpus.stream().allMatch(Gpu::isSound));
    }

    /** NVML may take its time, and a GPU in MIG mode cannot be used as a whole. */
    @Test
    void withoutNvmlsWordGpuInMigModeIsNotGivenOut() throws IOException {
        instance(1, 1, 12);
        assertFalse(gpus().getFirst().isSound());
        assertEquals("it is in MIG mode, and NVML has not reported its instances yet", trouble());
        assertTrue(gpus().getLast().isSound());
    }

    @Test
    void gpuWithAPartThatNothingCanUseIsNotGivenOut() throws IOException {
        proc.file("/proc/driver/nvidia/capabilities/gpu1/mig/gi1/access", access(12));
        assertFalse(gpus().getFirst().isSound());
    }

    @Test
    void gpuInMigModeWithoutAnInstanceIsNotGivenOut() throws IOException {
        received(true);
        assertEquals("it is in MIG mode and has no instance", trouble());
        received(true, FIRST);
        assertEquals(
                "it is in MIG mode, and the driver's files do not show its instances", trouble());
    }

    @Test
    void instanceThatIsGoneIsLeftOut() throws IOException {
        instance(1, 1, 12);
        received(true, FIRST, SECOND);
        assertEquals(List.of("0:1", "1"), gpus().stream().map(Gpu::number).toList());
    }

    @Test
    void gpuOutOfMigModeIsWhole() throws IOException {
        received(false);
        assertEquals(List.of("0", "1"), gpus().stream().map(Gpu::number).toList());
        assertTrue(gpus().getFirst().isSound());
    }

    @Test
    void minorIsThatOfTheDriversWords() {
        assertEquals(OptionalInt.of(21), MigParts.parseMinor(access(21)));
        assertEquals(OptionalInt.empty(), MigParts.parseMinor("DeviceFileMode: 292"));
        assertEquals(OptionalInt.empty(), MigParts.parseMinor("DeviceFileMinor: x"));
        assertEquals(OptionalInt.empty(), MigParts.parseMinor("DeviceFileMinor: 99999999"));
    }
}
