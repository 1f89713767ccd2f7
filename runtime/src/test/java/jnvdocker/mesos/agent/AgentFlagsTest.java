package jnvdocker.mesos.agent;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.host.Gpu;
import jnvdocker.labels.CudaVersion;
import jnvdocker.labels.DriverVersion;
import jnvdocker.lease.Cordon;
import jnvdocker.lease.GpuStatus;
import jnvdocker.words.Refusal;
import jnvdocker.words.RefusedException;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

class AgentFlagsTest {
    private static final Path CONFIG = Path.of("/etc/jnvdocker/config.toml");
    private static final Path FOLDER = Path.of("/usr/libexec/jnvdocker");
    private static final String A100 = "NVIDIA A100-SXM4-40GB";
    private static final MesosPolicy ANY = MesosPolicy.standard();

    private static final List<GpuStatus> FREE = List.of(free(0), free(1), free(2), free(3));

    @Test
    void allGpusAreOffered() throws RefusedException {
        AgentFlags flags = flags(FREE, "cpus:8;mem:1024", null, ANY);
        assertEquals(
                List.of(
                        "--resources='cpus:8;mem:1024;gpus:4'",
                        "--isolation=filesystem/linux,docker/runtime,cgroups/cpu,cgroups/mem,cgroups/devices",
                        "--launcher_dir=/usr/libexec/jnvdocker"),
                flags.lines());
        assertEquals(List.of(), flags.remarks());
        assertEquals("gpus:0", flags(List.of(), "", null, ANY).resources());
    }

    @Test
    void gpusThatAreNotGivenOutAreLeftOutWithTheReason() throws RefusedException {
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
        AgentFlags flags = flags(host, "", null, ANY);
        assertEquals("gpus:3", flags.resources());
        String cordoned = "cordoned (cordon in /etc/jnvdocker/config.toml)";
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
    void aListedGpuThatIsNotGivenOutIsNotCounted() throws RefusedException {
        List<GpuStatus> host =
                List.of(free(0), status(gpu(1), GpuStatus.State.CORDONED, "", true), free(2));
        AgentFlags flags = flags(host, "gpus(a):2", "0,1", only("0", "1"));
        assertEquals("gpus(a):1", flags.resources());
        assertEquals(2, flags.remarks().size());
        assertEquals(AgentFlags.FEWER, flags.remarks().getLast());
        assertTrue(
                refusal(host, "gpus(a):1;gpus:1", "0,1", ANY)
                        .startsWith("--resources has gpus for several roles"));
        assertEquals("gpus(a):1;gpus:1", flags(host, "gpus(a):1;gpus:1", "0,2", ANY).resources());
    }

    @Test
    void uuidsAreOfferedInPlaceOfANumber() throws RefusedException {
        AgentFlags.Wanted wanted =
                new AgentFlags.Wanted(
                        "cpus:1;gpus:2",
                        Optional.of("0,2"),
                        Optional.empty(),
                        Optional.empty(),
                        Optional.of("mesos"),
                        FOLDER,
                        true);
        assertEquals(
                "cpus:1;gpu_uuids:{GPU-5c1a0000,GPU-5c1a2000}",
                AgentFlags.of(wanted, facts(FREE), ANY).resources());
        AgentFlags.Wanted shared =
                new AgentFlags.Wanted(
                        "gpus:2;gpus(a):2",
                        Optional.empty(),
                        Optional.empty(),
                        Optional.empty(),
                        Optional.of("mesos"),
                        FOLDER,
                        true);
        assertThrows(RefusedException.class, () -> AgentFlags.of(shared, facts(FREE), ANY));
    }

    @Test
    void theConfigurationSaysWhichUnlessTheListDoes() throws RefusedException {
        MesosPolicy some = only("1", "GPU-5c1a2");
        assertEquals("gpus:2", flags(FREE, "", null, some).resources());
        assertEquals("gpus:2", flags(FREE, "gpus:2", null, some).resources());
        assertEquals(List.of(), flags(FREE, "gpus:2", "1,2", some).remarks());
        assertEquals(List.of(), flags(FREE, "gpus:4", "3,2,1,0", ANY).remarks());
        assertEquals(
                List.of(
                        "to give Mesos tasks only these GPUs, put this line into"
                                + " /etc/jnvdocker/config.toml and run 'jnvdocker gpu reload':"
                                + " mesos_gpus = [\"GPU-5c1a0000\", \"GPU-5c1a2000\"]"),
                flags(FREE, "gpus:2", "0,2", some).remarks());
        assertEquals(
                List.of(
                        "mesos_gpus in /etc/jnvdocker/config.toml names '9', which matches no"
                                + " GPU on this host; this host has 0-3"),
                flags(FREE, "", null, only("1", "9")).remarks());
    }

    /** Each in Mesos' own words, then what to do. */
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "gpus:0|0|'--nvidia_gpus_devices' cannot be specified when '--resources' specifies"
                        + " 0 GPUs; leave one of them out, or write gpus:1",
                "''|0,2|'--nvidia_gpus_devices' cannot be set without also setting 'gpus' in"
                        + " '--resources'; add gpus:2 to it",
                "cpus:4|0|'--nvidia_gpus_devices' cannot be set without also setting 'gpus' in"
                        + " '--resources'; add gpus:1 to it",
                "gpus:2||The `gpus` resource cannot be set without also setting"
                    + " `--nvidia_gpu_devices`; name 2 of the GPUs that can be offered (0-3), or"
                    + " leave gpus out to offer them all",
                "gpus:1.5|0|The 'gpus' resource must be an non-negative integer; write a whole"
                        + " number in 'gpus:1.5'",
                "gpus:1.5||The 'gpus' resource must be an non-negative integer; write a whole"
                        + " number in 'gpus:1.5'",
                "gpus:2|0,0|'--nvidia_gpu_devices' contains duplicates; name each GPU once",
                "gpus:2|0|'--resources' and '--nvidia_gpu_devices' specify different numbers of GPU"
                        + " devices; write gpus:1, or list 2",
                "gpus:5|0,1,2,3,4|The number of GPUs requested is greater than the number of GPUs"
                        + " available on the machine; this host has 0-3",
                "gpus:8||The number of GPUs requested is greater than the number of GPUs available"
                        + " on the machine; this host has 0-3",
                "gpus:1|4|GPU device not found: 4; this host has 0-3",
                "gpus:1|GPU-abc|Failed to load value 'GPU-abc': Failed to numify 'GPU-abc'; write"
                        + " indices, as in 0,2 ('jnvdocker gpu ls' shows them)",
                "gpus:1|''|Failed to load value '': Failed to numify ''; write indices, as in 0,2"
                        + " ('jnvdocker gpu ls' shows them)",
                "gpus:1|-1|Failed to load value '-1': Failed to numify '-1'; write indices, as in"
                        + " 0,2 ('jnvdocker gpu ls' shows them)",
            })
    void wrongCombinationsAreRefused(String resources, String devices, String why) {
        assertEquals("invalid agent flags: " + why, refusal(FREE, resources, devices, ANY));
    }

    @Test
    void noGpusMayBeRequested() throws RefusedException {
        assertEquals("cpus:2;gpus:0", flags(FREE, "cpus:2;gpus:0", null, ANY).resources());
        assertEquals(List.of(), flags(FREE, "gpus:0", null, ANY).remarks());
    }

    @Test
    void attributesAreTextsForMesos() throws RefusedException {
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
        assertEquals(Optional.empty(), flags(FREE, "gpus:0", null, ANY).attributes());
    }

    private static String attributes(String given, AgentFlags.Facts facts) throws RefusedException {
        AgentFlags.Wanted wanted =
                new AgentFlags.Wanted(
                        "",
                        Optional.empty(),
                        Optional.of(given),
                        Optional.empty(),
                        Optional.of("mesos"),
                        FOLDER,
                        false);
        return AgentFlags.of(wanted, facts, ANY).attributes().orElseThrow();
    }

    @ParameterizedTest
    @ValueSource(strings = {"docker", "docker,mesos", "mesos, docker"})
    void dockerContainerizerIsRefused(String containerizers) {
        AgentFlags.Wanted wanted =
                new AgentFlags.Wanted(
                        "",
                        Optional.empty(),
                        Optional.empty(),
                        Optional.empty(),
                        Optional.of(containerizers),
                        FOLDER,
                        false);
        assertEquals(
                "an agent with the docker containerizer and these flags exits at startup on a host"
                        + " with NVML; leave docker out of --containerizers",
                assertThrows(RefusedException.class, () -> AgentFlags.of(wanted, facts(FREE), ANY))
                        .getMessage());
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
    void isolatorsThatGpusNeedAreAdded(String given, String added) throws RefusedException {
        AgentIsolation isolation = AgentIsolation.of(given);
        assertEquals(added, String.join(",", isolation.added()));
        String separator = given.isEmpty() || added.isEmpty() ? "" : ",";
        assertEquals(given.replace(" ", "") + separator + added, isolation.toString());
    }

    @ParameterizedTest
    @ValueSource(strings = {"gpu/nvidia,cgroups/all", "filesystem/posix", "docker/runtime;gpu"})
    void isolatorsThatExcludeUsAreRefused(String given) {
        assertThrows(RefusedException.class, () -> AgentIsolation.of(given));
    }

    @Test
    void valuesThatAShellWouldSplitAreQuoted() throws RefusedException {
        AgentFlags.Wanted wanted = AgentFlags.Wanted.standard(Path.of("/opt/it's here"));
        assertEquals(
                "--launcher_dir='/opt/it'\\''s here'",
                AgentFlags.of(wanted, facts(FREE), ANY).lines().getLast());
    }

    private static MesosPolicy only(String... ids) {
        return new MesosPolicy(List.of(ids), MesosPolicy.WAIT);
    }

    private static AgentFlags flags(
            List<GpuStatus> host, String resources, String devices, MesosPolicy policy)
            throws RefusedException {
        return AgentFlags.of(
                new AgentFlags.Wanted(
                        resources,
                        Optional.ofNullable(devices),
                        Optional.empty(),
                        Optional.empty(),
                        Optional.of("mesos"),
                        FOLDER,
                        false),
                facts(host),
                policy);
    }

    private static String refusal(
            List<GpuStatus> host, String resources, String devices, MesosPolicy policy) {
        return assertThrows(RefusedException.class, () -> flags(host, resources, devices, policy))
                .getMessage();
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
        Optional<Cordon> cordon =
                cordoned ? Optional.of(new Cordon.ByFile("cordon in " + CONFIG)) : Optional.empty();
        return new GpuStatus(
                gpu, state, Optional.empty(), Optional.empty(), note, List.of(), cordon);
    }
}
