package jnvdocker.host;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.labels.DriverVersion;
import jnvdocker.posix.FileErrors;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

class HostDriverTest {
    private static final String VERSION_535 =
            """
            NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19 01:15:15 UTC 2023
            GCC version:  gcc version 12.2.0 (Debian 12.2.0-14)
            """;
    private static final String UUID = "GPU-5c1a1003-1d2c-4e5f-8a9b-012345678901";

    @TempDir Path root;
    private TestingProc proc;

    @BeforeEach
    void makeProc() {
        proc = new TestingProc(root);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            textBlock =
                    """
                    NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19 01:15:15 UTC 2023 | 535.104.05
                    NVIDIA UNIX x86_64 Kernel Module  384.111  Tue Dec 19 23:51:45 PST 2017 | 384.111
                    NVIDIA UNIX aarch64 Kernel Module  470.82.01  Wed Oct 27 21:23:05 UTC 2021 | 470.82.01
                    NVIDIA UNIX Open Kernel Module for x86_64  550.54.14  Release Build  (dvs-builder@U16-I3-B03-4-3)  Thu Feb 22 01:25:25 UTC 2024 | 550.54.14
                    NVIDIA UNIX Open Kernel Module for aarch64  570.124.06  Release Build  (root@host)  Mon Mar  3 10:00:00 UTC 2025 | 570.124.06
                    """)
    void versionIsFoundInEveryWording(String line, String version) {
        assertEquals(
                Optional.of(DriverVersion.parse(version)),
                HostDriver.parseVersion(
                        "NVRM version: " + line + "\nGCC version:  gcc version 12.2.0\n"));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "\n\n",
                "GCC version:  gcc version 12.2.0",
                "NVRM version: NVIDIA UNIX x86_64 Kernel Module",
                "NVRM version: NVIDIA UNIX x86_64 Kernel Module\nGCC version:  535.104.05",
                "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535",
                "NVRM version: NVIDIA UNIX x86_64 Kernel Module  ...",
                "NVRM version: NVIDIA UNIX x86_64 Kernel Module  999999999999999.1",
                "no NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05",
            })
    void otherTextNamesNoVersion(String text) {
        assertEquals(Optional.empty(), HostDriver.parseVersion(text));
    }

    @Test
    void hostWithoutDriverGetsTheRemedy() {
        var error = assertThrows(NoDriverException.class, () -> HostDriver.read(proc.host()));
        assertTrue(error.getMessage().startsWith("no NVIDIA driver is loaded"), error.toString());
        assertTrue(error.getMessage().contains("modprobe nvidia"), error.toString());
    }

    /** By what each of these hosts has in place of the module. */
    @ParameterizedTest
    @CsvSource({
        "/dev/dxg, '', this is WSL",
        "/sys/module/nouveau/refcnt, 4, the driver nouveau has the GPUs",
        "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c, '\06\0\0\0\01',"
                + " Secure Boot is on",
    })
    void remedyFitsWhatKeepsTheModuleOut(String file, String text, String remedy)
            throws IOException {
        proc.file(file, text);
        var error = assertThrows(NoDriverException.class, () -> HostDriver.read(proc.host()));
        assertTrue(error.getMessage().contains(remedy), error.toString());
    }

    @Test
    void secureBootThatIsOffIsNotNamed() throws IOException {
        proc.file(
                "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c",
                "\6\0\0\0\0");
        var error = assertThrows(NoDriverException.class, () -> HostDriver.read(proc.host()));
        assertTrue(error.getMessage().endsWith("'modprobe nvidia'"), error.toString());
    }

    @Test
    void versionIsTakenFromSysWhenProcHasNone() throws IOException {
        proc.file("/sys/module/nvidia/version", "550.54.14\n");
        assertEquals("550.54.14", HostDriver.readVersion(proc.host()).text());
    }

    @Test
    void procComesBeforeSys() throws IOException {
        proc.version(VERSION_535).file("/sys/module/nvidia/version", "550.54.14\n");
        assertEquals("535.104.05", HostDriver.readVersion(proc.host()).text());
    }

    @Test
    void strangeVersionFileIsNamed() throws IOException {
        proc.version("nouveau\n");
        assertRefusal("/proc/driver/nvidia/version");
    }

    @Test
    void strangeVersionInSysIsNamed() throws IOException {
        proc.file("/sys/module/nvidia/version", "\0\u001b[2J".repeat(100));
        String text = assertRefusal("/sys/module/nvidia/version");
        assertTrue(text.chars().noneMatch(Character::isISOControl), "a terminal would obey it");
    }

    @Test
    void versionFileOfAnyLengthIsNotRead() throws IOException {
        proc.version(VERSION_535 + "x".repeat(1 << 16));
        var error = assertThrows(IOException.class, () -> HostDriver.read(proc.host()));
        assertTrue(error.getMessage().contains("nvidia/version is longer than"), error.toString());
    }

    @Test
    void driverWithoutGpusIsADriver() throws IOException {
        proc.version(VERSION_535);
        assertEquals(
                new HostDriver(DriverVersion.parse("535.104.05"), List.of()),
                HostDriver.read(proc.host()));
    }

    @Test
    void gpusAreNumberedByAddressWhateverTheirMinors() throws IOException {
        proc.version(VERSION_535)
                .gpu("0000:1f:00.0", TestingProc.information(UUID + "a", 0))
                .gpu("0000:07:00.0", TestingProc.information(UUID + "b", 3))
                .gpu("0001:00:00.0", TestingProc.information(UUID + "c", 1));
        assertEquals(
                List.of(
                        gpu(0, UUID + "b", 3, "0000:07:00.0"),
                        gpu(1, UUID + "a", 0, "0000:1f:00.0"),
                        gpu(2, UUID + "c", 1, "0001:00:00.0")),
                HostDriver.read(proc.host()).gpus());
    }

    @Test
    void upperCaseAddressesAreOrderedAndShownInLowerCase() throws IOException {
        proc.version(VERSION_535)
                .gpu("0000:AF:00.0", TestingProc.information(UUID + "a", 1))
                .gpu("0000:3b:00.0", TestingProc.information(UUID + "b", 0))
                .gpu("0000:d8:00.0", TestingProc.information(UUID + "c", 2));
        assertEquals(
                List.of("0000:3b:00.0", "0000:af:00.0", "0000:d8:00.0"),
                HostDriver.read(proc.host()).gpus().stream().map(Gpu::pciAddress).toList());
    }

    @Test
    void whatIsNoAddressIsNoGpu() throws IOException {
        proc.version(VERSION_535)
                .gpu("0000:07:00.0", TestingProc.information(UUID, 0))
                .gpu("0000:07:00.8", "junk")
                .gpu("readme", "junk");
        assertEquals(1, HostDriver.read(proc.host()).gpus().size());
    }

    @Test
    void gpuThatNothingHasOpenedYetHasQuestionMarks() throws IOException {
        String unknown = "GPU-????????-????-????-????-????????????";
        Gpu gpu = parse(TestingProc.information(unknown, 0));
        assertEquals(unknown, gpu.uuid());
        assertEquals("GPU-????????", gpu.shortUuid());
    }

    @Test
    void gpuWithoutModelIsUnknown() throws IOException {
        assertEquals("unknown", parse("GPU UUID: " + UUID + "\nDevice Minor: 7\n").model());
    }

    @Test
    void linesEndAsTheyLike() throws IOException {
        Gpu gpu = parse(TestingProc.information(UUID, 255).replace("\n", "\r\n"));
        assertEquals(gpu(0, UUID, 255, "0000:0f:00.0"), gpu);
    }

    @Test
    void gpuWithoutUuidIsInTrouble() {
        assertTrouble("Device Minor: 0\n", "no UUID for it (found '')");
        assertTrouble("GPU UUID: N/A\nDevice Minor: 0\n", "no UUID for it (found 'N/A')");
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "Device Minor:\n", "Device Minor: -1\n", "Device Minor: 4096\n"})
    void gpuWithoutMinorIsInTrouble(String line) {
        assertTrouble("GPU UUID: " + UUID + "\n" + line, "no device minor for it");
    }

    @ParameterizedTest
    @ValueSource(strings = {"", ":", "::::\n:\n", "\0\0\0", "Model"})
    void garbageIsTrouble(String text) {
        assertTrouble(text, "no UUID for it (found '')");
    }

    @Test
    void gpuThatCantBeReadLeavesTheOthers() throws IOException {
        proc.version(VERSION_535);
        Files.createDirectories(proc.path("/proc/driver/nvidia/gpus/0000:07:00.0"));
        proc.gpu("0000:0f:00.0", TestingProc.information(UUID, 1));
        List<Gpu> gpus = HostDriver.read(proc.host()).gpus();
        assertFalse(gpus.get(0).isSound());
        assertTrue(
                gpus.get(0)
                        .trouble()
                        .orElseThrow()
                        .what()
                        .contains("0000:07:00.0/information: No such file"));
        assertEquals(gpu(1, UUID, 1, "0000:0f:00.0"), gpus.get(1));
    }

    @Test
    void longerDomainsAreLargerNumbers() throws IOException {
        proc.version(VERSION_535)
                .gpu("10000:01:00.0", TestingProc.information(UUID + "a", 0))
                .gpu("e000:01:00.0", TestingProc.information(UUID + "b", 1));
        assertEquals(
                List.of("e000:01:00.0", "10000:01:00.0"),
                HostDriver.read(proc.host()).gpus().stream().map(Gpu::pciAddress).toList());
    }

    @Test
    void fileThatFailsToBeReadIsNamed() throws IOException {
        Files.createDirectories(proc.path("/proc/driver/nvidia/version"));
        var error = assertThrows(IOException.class, () -> HostDriver.read(proc.host()));
        assertEquals(
                proc.host().resolve("/proc/driver/nvidia/version") + ": Is a directory",
                FileErrors.describe(error));
    }

    @Test
    void excludedGpuIsNeitherGivenNorCounted() throws IOException {
        String excluded =
                TestingProc.information(UUID + "a", 0).replace("Excluded:\t No", "Excluded:\t Yes");
        proc.version(VERSION_535)
                .gpu("0000:07:00.0", excluded)
                .gpu("0000:0f:00.0", TestingProc.information(UUID, 1));
        assertEquals(List.of(gpu(0, UUID, 1, "0000:0f:00.0")), HostDriver.read(proc.host()).gpus());
    }

    private static Gpu parse(String text) {
        return HostDriver.parseGpu(0, "0000:0f:00.0", text);
    }

    private static Gpu gpu(int index, String uuid, int minor, String address) {
        return new Gpu(index, uuid, minor, address, "NVIDIA A100-SXM4-40GB");
    }

    private static void assertTrouble(String text, String reason) {
        Gpu gpu = parse(text);
        assertFalse(gpu.isSound());
        assertTrue(gpu.trouble().orElseThrow().what().contains(reason), gpu::toString);
    }

    private String assertRefusal(String file) {
        var error = assertThrows(NoDriverException.class, () -> HostDriver.read(proc.host()));
        assertTrue(error.getMessage().contains(proc.path(file).toString()), error.toString());
        return error.getMessage();
    }

    @Test
    void gpuSleepsWhereTheKernelSaysSo() throws IOException {
        Host host = Host.at(root);
        String address = "0000:01:00.0";
        assertFalse(HostDriver.isAsleep(host, address));
        Path power = root.resolve("sys/bus/pci/devices/" + address + "/power");
        Files.createDirectories(power);
        Files.writeString(power.resolve("runtime_status"), "suspended\n");
        assertTrue(HostDriver.isAsleep(host, address));
        Files.writeString(power.resolve("runtime_status"), "active\n");
        assertFalse(HostDriver.isAsleep(host, address));
    }
}
