package jnvdocker.mesos.agent;

import static org.junit.jupiter.api.Assertions.assertEquals;

import jnvdocker.host.Gpu;
import jnvdocker.labels.CudaVersion;
import jnvdocker.labels.DriverVersion;
import jnvdocker.lease.Cordon;
import jnvdocker.lease.GpuStatus;
import jnvdocker.lease.Verdict;
import jnvdocker.words.Refusal;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

class AgentFlagsTest {
    private static final Path CONFIG = Path.of("/etc/jnvdocker/config.toml");
    private static final Path DIRECTORY = Path.of("/usr/libexec/jnvdocker");
    private static final String A100 = "NVIDIA A100-SXM4-40GB";
    private static final MesosPolicy ANY = new MesosPolicy(List.of(), MesosPolicy.WAIT);

    private static final List<GpuStatus> FREE = List.of(free(0), free(1), free(2), free(3));

    @Test
    void allGpusAreOffered() {
        AgentFlags flags = flags(FREE, "cpus:8;mem:1024", ANY);
        assertEquals(
                List.of(
                        "--resources='cpus:8;mem:1024;gpus:4'",
                        "--isolation=filesystem/linux,docker/runtime,cgroups/cpu,cgroups/mem,cgroups/devices",
                        "--launcher_dir=/usr/libexec/jnvdocker"),
                flags.lines());
        assertEquals(List.of(), flags.remarks());
        assertEquals("gpus:0", flags(List.of(), "", ANY).resources());
    }

    @Test
    void gpusThatAreNotGivenOutAreLeftOutWithTheReason() {
        List<GpuStatus> host =
                List.of(
                        status(gpu(0), GpuStatus.State.HELD, "", false),
                        status(gpu(1), GpuStatus.State.CORDONED, "", true),
                        status(gpu(2), GpuStatus.State.HELD, "", true),
                        status(gpu(3), GpuStatus.State.UNMANAGED, "used by bob's python3", false),
                        status(
                                new Gpu(4, "?", -1, "0000:47:00.0", "?")
                                        .with(new Refusal("the driver is mute", "check it")),
                                GpuStatus.State.SICK,
                                "the driver is mute",
                                false),
                        status(
                                new Gpu(5, "GPU-????????", 5, "0000:48:00.0", A100),
                                GpuStatus.State.FREE,
                                "",
                                false),
                        status(
                                gpu(6),
                                GpuStatus.State.MISSING,
                                "the driver shows it no more",
                                false),
                        status(gpu(7), GpuStatus.State.RESERVED, "", false),
                        status(gpu(8), GpuStatus.State.STUCK, "killed", false));
        AgentFlags flags = flags(host, "", ANY);
        assertEquals("gpus:3", flags.resources());
        String cordoned = "cordoned in the configuration";
        assertEquals(
                List.of(
                        "GPU 1 (GPU-5c1a1000) is left out: " + cordoned,
                        "GPU 2 (GPU-5c1a2000) is left out: " + cordoned,
                        "GPU 3 (GPU-5c1a3000) is left out: used by bob's python3",
                        "GPU 4 (?) is left out: the driver is mute",
                        "GPU 5 (GPU-????????) is left out: it has no UUID yet",
                        "GPU 6 (GPU-5c1a6000) is left out: the driver shows it no more",
                        AgentFlags.FEWER),
                flags.remarks());
    }

    @Test
    void uuidsAreOfferedInPlaceOfANumber() {
        AgentFlags.Wanted wanted =
                new AgentFlags.Wanted(
                        "cpus:1;", Optional.empty(), Optional.empty(), DIRECTORY, true);
        assertEquals(
                "cpus:1;gpu_uuids:{GPU-5c1a0000,GPU-5c1a2000}",
                AgentFlags.of(wanted, facts(FREE), only("0", "2")).resources());
    }

    @Test
    void theConfigurationSaysWhich() {
        assertEquals("gpus:2", flags(FREE, "", only("1", "GPU-5c1a2")).resources());
        assertEquals(
                List.of(
                        "mesos.gpus in /etc/jnvdocker/config.toml names '9', which matches no"
                                + " GPU on this host; this host has 0-3"),
                flags(FREE, "", only("1", "9")).remarks());
    }

    @Test
    void attributesAreTextsForMesos() {
        Gpu t4 = new Gpu(0, "GPU-5c1a0000", 0, "0000:07:00.0", "Tesla T4 (16 GB);x:y");
        List<GpuStatus> host =
                List.of(status(t4, GpuStatus.State.FREE, "", false), free(1), free(2));
        AgentFlags.Facts facts =
                new AgentFlags.Facts(DriverVersion.parse("418.67"), Optional.empty(), host, CONFIG);
        assertEquals(
                "nvidia_driver:v418.67;nvidia_gpu:Tesla_T4_16_GB_x_y/NVIDIA_A100-SXM4-40GB",
                attributes("", facts));
        assertEquals(
                "rack:r1;nvidia_driver:v535.261.03;nvidia_cuda:v12.2;nvidia_gpu:NVIDIA_A100-SXM4-40GB",
                attributes("rack:r1; nvidia_driver:v418.67 ;nvidia_gpu:x;", facts(FREE)));
        assertEquals(
                "nvidia_driver:v535.261.03;nvidia_cuda:v12.2", attributes("", facts(List.of())));
        assertEquals(Optional.empty(), flags(FREE, "", ANY).attributes());
    }

    private static String attributes(String given, AgentFlags.Facts facts) {
        AgentFlags.Wanted wanted =
                new AgentFlags.Wanted("", Optional.of(given), Optional.empty(), DIRECTORY, false);
        return AgentFlags.of(wanted, facts, ANY).attributes().orElseThrow();
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "filesystem/linux,docker/runtime,cgroups/devices,linux/capabilities|''",
                "cgroups/all,filesystem/linux,docker/runtime|''",
                "posix/cpu, posix/mem|filesystem/linux,docker/runtime,cgroups/devices",
                "''|filesystem/linux,docker/runtime,cgroups/devices",
                "cgroups/mem,filesystem/linux|docker/runtime,cgroups/devices"
            })
    void isolatorsThatGpusNeedAreAdded(String given, String added) {
        AgentIsolation isolation = AgentIsolation.of(given);
        assertEquals(added, String.join(",", isolation.added()));
        String separator = given.isEmpty() || added.isEmpty() ? "" : ",";
        assertEquals(given.replace(" ", "") + separator + added, isolation.toString());
    }

    @Test
    void valuesThatAShellWouldSplitAreQuoted() {
        AgentFlags.Wanted wanted = AgentFlags.Wanted.standard(Path.of("/opt/it's here"));
        assertEquals(
                "--launcher_dir='/opt/it'\\''s here'",
                AgentFlags.of(wanted, facts(FREE), ANY).lines().getLast());
    }

    private static MesosPolicy only(String... ids) {
        return new MesosPolicy(List.of(ids), MesosPolicy.WAIT);
    }

    private static AgentFlags flags(List<GpuStatus> host, String resources, MesosPolicy policy) {
        return AgentFlags.of(
                new AgentFlags.Wanted(
                        resources, Optional.empty(), Optional.empty(), DIRECTORY, false),
                facts(host),
                policy);
    }

    private static AgentFlags.Facts facts(List<GpuStatus> host) {
        return new AgentFlags.Facts(
                DriverVersion.parse("535.261.03"),
                Optional.of(new CudaVersion(12, 2)),
                host,
                CONFIG);
    }

    private static Gpu gpu(int index) {
        return new Gpu(index, "GPU-5c1a" + index + "000", index, "0000:0" + index + ":00.0", A100);
    }

    private static GpuStatus free(int index) {
        return status(gpu(index), GpuStatus.State.FREE, "", false);
    }

    private static GpuStatus status(Gpu gpu, GpuStatus.State state, String note, boolean cordoned) {
        List<Verdict.Reason> reasons = new ArrayList<>();
        gpu.trouble().map(Verdict.Sick::new).ifPresent(reasons::add);
        if (!gpu.hasUuid()) {
            reasons.add(new Verdict.Nameless());
        }
        if (cordoned) {
            reasons.add(new Verdict.Cordoned(new Cordon.ByFile()));
        }
        if (state == GpuStatus.State.HELD) {
            reasons.add(new Verdict.Held(false));
        }
        if (state == GpuStatus.State.UNMANAGED) {
            reasons.add(new Verdict.InUse(List.of(), true, true));
        }
        return new GpuStatus(
                new Verdict(gpu, List.of(), 0, reasons),
                state,
                Optional.empty(),
                Optional.empty(),
                note);
    }
}
