package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.json.JsonMapper;

import jnvdocker.attack.Attack;
import jnvdocker.command.gpu.view.GpuView;
import jnvdocker.host.Host;
import jnvdocker.host.HostDriver;
import jnvdocker.labels.DriverVersion;
import jnvdocker.nvml.CudaVersions;
import jnvdocker.nvml.GpuMonitor;
import jnvdocker.rest.DeviceReport;
import jnvdocker.rest.NvidiaDockerPages;
import jnvdocker.rest.OpenApi;
import jnvdocker.tests.world.MachineHost;
import jnvdocker.tests.world.Project;
import jnvdocker.web.WebAnswer;
import jnvdocker.web.WebRequest;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import java.util.zip.InflaterInputStream;

/**
 * The answers of nvidia-docker 1.0's REST API on each machine of tests/fake-nvml, and on one
 * without NVML, are those of tests/fixtures/rest.
 */
@Attack(
        by = "any user",
        what = "queries over TCP what runs on the GPUs",
        result = "no pids and programs without `listen_labels`")
class NvidiaDockerPagesTest {
    private static final Path ANSWERS = Project.root().resolve("tests/fixtures/rest");
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final ObjectMapper CLIENT =
            JsonMapper.builder()
                    .enable(DeserializationFeature.FAIL_ON_MISSING_CREATOR_PROPERTIES)
                    .enable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES)
                    .build();

    /** Two of the processes that the machines name run. */
    private static final Map<Long, String> PROGRAMS =
            Map.of(4711L, "/usr/bin/python3.11", 2340L, "/usr/lib/firefox/firefox");

    @TempDir private Path directory;
    private Optional<GpuMonitor> monitor = Optional.empty();
    private boolean labels = true;

    @AfterEach
    void close() {
        monitor.ifPresent(GpuMonitor::close);
    }

    private static List<String> worlds() throws IOException {
        try (Stream<Path> directories = Files.list(ANSWERS)) {
            return directories
                    .map(directory -> directory.getFileName().toString())
                    .sorted()
                    .toList();
        }
    }

    private NvidiaDockerPages pages(String world) throws IOException {
        return world.equals("no-nvml")
                ? pages(MachineHost.of(directory, "a100x8"), false)
                : pages(MachineHost.of(directory, world), true);
    }

    private NvidiaDockerPages pages(MachineHost machine, boolean nvml) throws IOException {
        Host host = machine.host();
        if (nvml) {
            monitor = Optional.of(machine.monitor());
        }
        DriverVersion driver = HostDriver.readVersion(host);
        CudaVersions cuda =
                new CudaVersions(
                        () -> machine.cuda().map(it -> new CudaVersions.Reported(driver, it)));
        return new NvidiaDockerPages(
                new DeviceReport(
                        new GpuView(
                                host,
                                null,
                                () -> monitor.map(GpuMonitor::readings).orElse(Map.of()),
                                () -> monitor.map(GpuMonitor::topologies).orElse(Map.of()),
                                _ -> List.of()),
                        cuda,
                        pid -> Optional.ofNullable(PROGRAMS.get(pid))),
                () -> labels);
    }

    private static WebAnswer.Page fetch(NvidiaDockerPages pages, String path) throws IOException {
        WebAnswer.Page page =
                (WebAnswer.Page)
                        pages.answer(
                                        new WebRequest(
                                                path,
                                                Map.of(),
                                                false,
                                                OptionalInt.empty(),
                                                Optional.empty()))
                                .orElseThrow();
        OpenApi.check(path, page);
        return page;
    }

    private static void check(String world, String file, String answer) throws IOException {
        Path expected = ANSWERS.resolve(world).resolve(file);
        assertEquals(Files.readString(expected), answer, expected.toString());
    }

    /** One line in the answer, many in the file. */
    private static String readable(WebAnswer.Page page) throws IOException {
        assertEquals(WebAnswer.JSON, page.type());
        assertTrue(page.body().endsWith("}\n") && page.body().lines().count() == 1, page::body);
        return JSON.readTree(page.body()).toPrettyString() + "\n";
    }

    private static String text(WebAnswer.Page page) {
        assertEquals(WebAnswer.TEXT, page.type());
        return page.body();
    }

    @ParameterizedTest
    @MethodSource("worlds")
    void answersAreThoseOfNvidiaDocker(String world) throws Exception {
        NvidiaDockerPages pages = pages(world);
        check(world, "gpu-info.json", readable(fetch(pages, "/gpu/info/json")));
        check(world, "gpu-status.json", readable(fetch(pages, "/v1.0/gpu/status/json")));
    }

    /** As clients in Go declare it; a key more or less is an error. */
    private record Info(Version Version, List<Device> Devices) {
        record Version(String Driver, String CUDA) {}

        record Device(
                String UUID,
                String Path,
                String Model,
                Integer Power,
                Integer CPUAffinity,
                Pci PCI,
                Clocks Clocks,
                List<Link> Topology,
                String Family,
                String Arch,
                Integer Cores,
                Memory Memory) {}

        record Pci(String BusID, Long BAR1, Integer Bandwidth) {}

        record Clocks(Integer Cores, Integer Memory) {}

        record Link(String BusID, int Link) {}

        record Memory(
                Boolean ECC,
                Long Global,
                Integer Shared,
                Integer Constant,
                Integer L2Cache,
                Integer Bandwidth) {}
    }

    private record Status(List<Device> Devices) {
        record Device(
                Integer Power,
                Integer Temperature,
                Utilization Utilization,
                Memory Memory,
                Info.Clocks Clocks,
                Pci PCI,
                List<Process> Processes) {}

        record Utilization(Integer GPU, Integer Memory, Integer Encoder, Integer Decoder) {}

        record Memory(Long GlobalUsed, Errors ECCErrors) {}

        record Errors(Long L1Cache, Long L2Cache, Long Global) {}

        record Pci(Long BAR1Used, Throughput Throughput) {}

        record Throughput(Integer RX, Integer TX) {}

        record Process(int PID, String Name, Long MemoryUsed) {}
    }

    private static Info info(NvidiaDockerPages pages) throws IOException {
        return CLIENT.readValue(fetch(pages, "/gpu/info/json").body(), Info.class);
    }

    private static Status status(NvidiaDockerPages pages) throws IOException {
        return CLIENT.readValue(fetch(pages, "/gpu/status/json").body(), Status.class);
    }

    @Test
    void clientReadsUnitsOfNvidiaDocker() throws Exception {
        NvidiaDockerPages pages = pages("a100x8");
        Info info = info(pages);
        assertEquals(new Info.Version("535.261.03", "12.2"), info.Version());
        assertEquals(8, info.Devices().size());
        Info.Device device = info.Devices().get(1);
        assertEquals("GPU-5c1a1003-61a1-4d0c-9a55-2b6d2c3c0001", device.UUID());
        assertEquals(400, device.Power()); // of 400000 mW
        assertEquals(new Info.Pci("00000000:0F:00.0", 65536L, 31504), device.PCI());
        assertEquals(new Info.Clocks(1410, 1215), device.Clocks());
        assertEquals(new Info.Memory(true, 40960L, null, null, null, 1_555_200), device.Memory());
        Status.Device status = status(pages).Devices().get(1);
        assertEquals(391, status.Power());
        assertEquals(new Status.Throughput(340, 12), status.PCI().Throughput());
        assertEquals(36864, status.Memory().GlobalUsed());
        assertEquals(List.of(new Status.Process(4712, null, 36239L)), status.Processes());
    }

    /** Every user of the host can connect over TCP. */
    @Test
    void processesAreForThoseWhoMayKnowOfThem() throws Exception {
        NvidiaDockerPages pages = pages("a100x8");
        String path = "/gpu/status/json";
        assertTrue(fetch(pages, path).body().contains("4712"));
        labels = false;
        assertFalse(fetch(pages, path).body().contains("4712"));
        assertNull(status(pages).Devices().get(1).Processes());
        assertEquals(391, status(pages).Devices().get(1).Power());
        var ours =
                (WebAnswer.Page)
                        pages.answer(
                                        new WebRequest(
                                                path,
                                                Map.of(),
                                                true,
                                                OptionalInt.empty(),
                                                Optional.empty()))
                                .orElseThrow();
        assertTrue(ours.body().contains("4712"));
    }

    @ParameterizedTest
    @MethodSource("worlds")
    void clientFindsEveryField(String world) throws Exception {
        NvidiaDockerPages pages = pages(world);
        assertEquals(info(pages).Devices().size(), status(pages).Devices().size());
    }

    @Test
    void mesosAttributeIsTheDocument() throws Exception {
        NvidiaDockerPages pages = pages("h100x4");
        String line = text(fetch(pages, "/mesos/cli"));
        String attribute =
                line.replaceFirst("^--attributes=gpus:", "").replaceFirst(" --resources.*", "");
        var bytes = new ByteArrayInputStream(Base64.getUrlDecoder().decode(attribute));
        assertEquals(
                fetch(pages, "/gpu/info/json").body(),
                new String(new InflaterInputStream(bytes).readAllBytes(), StandardCharsets.UTF_8));
        assertFalse(attribute.contains("="));
        assertEquals(
                " --resources=gpus:{"
                        + info(pages).Devices().stream()
                                .map(Info.Device::UUID)
                                .collect(Collectors.joining(","))
                        + "}",
                line.substring(line.indexOf(' ')));
    }

    @Test
    void hostWithoutDriverHasNoGpus() throws Exception {
        NvidiaDockerPages pages = pages("no-nvml");
        Files.delete(directory.resolve("root/proc/driver/nvidia/version"));
        assertEquals(new Info(new Info.Version(null, null), List.of()), info(pages));
        assertEquals(new Status(List.of()), status(pages));
    }

    @Test
    void otherPathsAreOthers() throws Exception {
        NvidiaDockerPages pages = pages("no-nvml");
        for (String path :
                List.of(
                        "/",
                        "/gpu",
                        "/gpu/info",
                        "/docker/cli",
                        "/v1.0",
                        "/v1.0gpu/info/json",
                        "/v2/gpus")) {
            assertEquals(
                    Optional.empty(),
                    pages.answer(
                            new WebRequest(
                                    path, Map.of(), true, OptionalInt.empty(), Optional.empty())),
                    path);
        }
    }
}
