package jnvdocker.doctor;

import static org.junit.jupiter.api.Assertions.assertEquals;

import jnvdocker.docker.engine.EngineRuntimes;
import jnvdocker.host.Host;
import jnvdocker.lease.Claim;
import jnvdocker.lease.ClaimKey;
import jnvdocker.lease.Holder;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Origin;
import jnvdocker.lease.Owner;
import jnvdocker.oci.install.EngineKind;
import jnvdocker.oci.install.ForeignRuntimes;
import jnvdocker.oci.install.Registration;
import jnvdocker.oci.install.RuntimeHealth;
import jnvdocker.posix.ProcessId;
import jnvdocker.words.Refusal;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Predicate;

/** By which ways containers get GPUs, ours and others. */
class OtherWaysTest {
    private static final String OURS =
            "/usr/libexec/jnvdocker-runtime/docker/nvidia-container-runtime";

    @TempDir Path directory;
    private Path root;

    @BeforeEach
    void open() throws IOException {
        root = directory.toRealPath();
    }

    private Path write(String path, String text) throws IOException {
        Path file = root.resolve(path.substring(1));
        Files.createDirectories(file.getParent());
        return Files.writeString(file, text);
    }

    private List<String> found(Optional<EngineRuntimes> docker, Optional<Path> ours)
            throws IOException {
        Findings found = new Findings();
        new OtherWays(new ForeignRuntimes(Host.at(root)), OURS::equals)
                .findings(docker, ours, found);
        return lines(found);
    }

    private static List<String> lines(Findings found) {
        return found.all().stream().map(Finding::line).toList();
    }

    private List<String> found(Map<String, String> runtimes, String standard) throws IOException {
        return found(Optional.of(new EngineRuntimes(standard, runtimes)), Optional.empty());
    }

    private List<String> found() throws IOException {
        return found(Map.of("runc", "runc"), "runc");
    }

    private static String past(String runtime, String program, String remedy) {
        return "%s (%s) gives containers GPUs without jnvdocker; take it out of %s"
                .formatted(runtime, program, remedy);
    }

    @Test
    void nothingIsFoundOnAHostWithoutAny() throws IOException {
        write("/usr/bin/runc", "#!/bin/sh\n");
        write("/etc/cdi/vendor.json", "{\"kind\":\"vendor.com/net\"}");
        write("/etc/containers/containers.conf", "not [ toml");
        write("/etc/containers/containers.conf.d/a.conf", "engine = 1\n");
        write("/etc/containers/containers.conf.d/b.conf", "[engine]\nruntimes = ['x']\n");
        write("/etc/containerd/config.toml", "runtimes = 1\n[a.runtimes]\nb = 2\n");
        write("/etc/docker/daemon.json", "{");
        assertEquals(
                List.of(),
                found(Map.of("runc", "/usr/bin/runc", "nvidia", OURS, "shim", ""), "nvidia"));
    }

    /**
     * By the name of their program or behind a script, as dockerd writes one for {@code
     * runtimeArgs}.
     */
    @Test
    void dockersRuntimesAreKnownByWhatTheyRun() throws IOException {
        write("/usr/bin/nvidia-container-runtime.cdi", "");
        write("/opt/gpu", "#!/bin/sh\nexec /usr/bin/nvidia-container-runtime \"$@\"\n");
        Files.createSymbolicLink(
                root.resolve("opt/link"), Path.of("/usr/bin/nvidia-container-runtime.cdi"));
        String remedy = "docker's daemon.json, and run 'jnvdocker runtime install'";
        assertEquals(
                List.of(
                        past("docker's runtime 'a'", "/opt/gpu", remedy),
                        past("docker's runtime 'c'", "/opt/link", remedy),
                        past("docker's runtime 'd'", "nvidia-container-runtime", remedy)),
                found(
                        Map.of(
                                "a", "/opt/gpu",
                                "c", "/opt/link",
                                "d", "nvidia-container-runtime",
                                "e", "/opt/absent",
                                "nvidia", OURS),
                        "runc"));
    }

    @Test
    void podmansAndContainerdsRuntimesAreRead() throws IOException {
        Path podman =
                write(
                        "/etc/containers/containers.conf.d/gpu.conf",
                        "[engine.runtimes]\nours = [\""
                                + OURS
                                + "\"]\n"
                                + "nvidia = [\"/usr/bin/nvidia-container-runtime\"]\n");
        Path containerd =
                write(
                        "/etc/containerd/conf.d/99-nvidia.toml",
                        """
                        version = 3
                        [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.nvidia]
                          runtime_type = "io.containerd.runc.v2"
                          [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.nvidia.options]
                            BinaryName = "/usr/bin/nvidia-container-runtime"
                        [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options]
                          BinaryName = "/usr/bin/runc"
                        """);
        assertEquals(
                List.of(
                        past(
                                "podman's runtime 'nvidia'",
                                "/usr/bin/nvidia-container-runtime",
                                podman + ", and run 'jnvdocker runtime install --engine podman'"),
                        past(
                                "containerd's runtime 'nvidia'",
                                "/usr/bin/nvidia-container-runtime",
                                containerd
                                        + ", and run 'jnvdocker runtime install --engine"
                                        + " containerd'")),
                found());
    }

    @Test
    void nvidiasHookIsClosedByOurRuntimeAsTheDefault() throws IOException {
        Path hook = write("/usr/bin/nvidia-container-runtime-hook", "");
        assertEquals(
                List.of(
                        hook
                                + " lets 'docker run --gpus' give containers of docker's default"
                                + " runtime GPUs without jnvdocker; run 'jnvdocker runtime install"
                                + " --default', or remove NVIDIA's container toolkit"),
                found());
        assertEquals(List.of(), found(Map.of("nvidia", OURS), "nvidia"));
        Path ours = Files.createDirectories(root.resolve("usr/local/bin"));
        Files.createSymbolicLink(
                ours.resolve("nvidia-container-runtime-hook"),
                Path.of("/nowhere/nvidia-container-runtime"));
        assertEquals(List.of(), found());
    }

    @Test
    void cdiFilesAreSearchedWhereAnyEngineDoes() throws IOException {
        String nvidias = "cdiVersion: 0.6.0\nkind: nvidia.com/gpu\n";
        List<Path> files =
                List.of(
                        write("/etc/cdi/nvidia.yaml", nvidias),
                        write("/var/run/cdi/nvidia.yml", nvidias),
                        write("/opt/docker/cdi/a.json", "{\"kind\":\"nvidia.com/gpu\"}"),
                        write("/opt/podman/cdi/b.yaml", nvidias),
                        write("/opt/containerd/cdi/c.yaml", nvidias));
        write("/etc/cdi/jnvdocker.json", "{\"kind\":\"jnvdocker/gpu\"}");
        write(
                "/etc/cdi/jnvdocker-nvidia.json",
                "{\"kind\":\"nvidia.com/gpu\",\"containerEdits\":{\"hooks\":"
                        + "[{\"args\":[\"jnvdocker-cdi-hook\",\"createRuntime\"]}]}}");
        write("/etc/docker/daemon.json", "{\"cdi-spec-dirs\":[\"/etc/cdi\",\"/opt/docker/cdi\"]}");
        write(
                "/etc/containers/containers.conf",
                "[engine]\ncdi_spec_dirs = [\"/opt/podman/cdi\"]\n");
        write(
                "/etc/containerd/config.toml",
                "[plugins.\"io.containerd.grpc.v1.cri\"]\n"
                        + "cdi_spec_dirs = [\"/opt/containerd/cdi\"]\n");
        assertEquals(
                files.stream()
                        .map(file ->
                                file
                                        + " lets '--device nvidia.com/gpu=…' give containers GPUs"
                                        + " without jnvdocker, but for those of its runtime;"
                                        + " replace it by jnvdocker's, of the same names: rm "
                                        + file
                                        + " && jnvdocker runtime install --engine cdi")
                        .toList(),
                found());
    }

    /** As engines decide it: the last directory that has a device, unless it has it twice. */
    @Test
    void fileOfNvidiasBesideOursIsNamedWithTheOneThatCounts() throws IOException {
        Path ours = root.resolve("etc/cdi/jnvdocker-nvidia.json");
        String nvidias = "cdiVersion: 0.6.0\nkind: nvidia.com/gpu\n";
        Path beside = write("/etc/cdi/nvidia.yaml", nvidias);
        Path later = write("/var/run/cdi/nvidia.yaml", nvidias);
        assertEquals(
                List.of(
                        both(beside, ours, "so engines refuse these names"),
                        both(
                                later,
                                ours,
                                "and engines take the former, which gives containers GPUs without"
                                        + " jnvdocker")),
                beside(ours));
        assertEquals(List.of(Finding.State.WRONG, Finding.State.HINT), states(ours));
        Files.delete(later);
        assertEquals(List.of(both(beside, later, "and engines take the latter")), beside(later));
    }

    private List<String> beside(Path ours) throws IOException {
        return found(Optional.empty(), Optional.of(ours));
    }

    /** Devices that engines refuse are a fault; the others work. */
    private List<Finding.State> states(Path ours) throws IOException {
        Findings found = new Findings();
        new OtherWays(new ForeignRuntimes(Host.at(root)), OURS::equals)
                .findings(Optional.empty(), Optional.of(ours), found);
        return found.all().stream().map(Finding::state).toList();
    }

    private static String both(Path file, Path ours, String result) {
        return file
                + " and "
                + ours
                + " both offer '--device nvidia.com/gpu=…', "
                + result
                + "; remove NVIDIA's: systemctl disable --now nvidia-cdi-refresh.path"
                + " nvidia-cdi-refresh.service; rm "
                + file;
    }

    private static String withoutNvidias(boolean wanted) {
        Findings found = new Findings();
        RuntimeCheck.withoutNvidias(wanted, found);
        return lines(found).getFirst();
    }

    @Test
    void namesOfNvidiasThatNoFileOfOursOffersAreReported() {
        String what = "no file of jnvdocker's offers '--device nvidia.com/gpu=…'";
        assertEquals(
                what
                        + ", as cdi_nvidia has it; run 'jnvdocker runtime install --engine cdi'"
                        + " again",
                withoutNvidias(true));
        assertEquals(what + ": cdi_nvidia is false", withoutNvidias(false));
    }

    @Test
    void hooksOfNvidiasAreSearchedWherePodmanDoes() throws IOException {
        Path hook =
                write(
                        "/usr/share/containers/oci/hooks.d/oci-nvidia-hook.json",
                        "{\"hook\":{\"path\":\"/usr/bin/nvidia-container-runtime-hook\"}}");
        write("/etc/containers/oci/hooks.d/other.json", "{\"hook\":{\"path\":\"/bin/true\"}}");
        assertEquals(
                List.of(
                        hook
                                + " has podman and CRI-O give containers GPUs without jnvdocker;"
                                + " remove NVIDIA's hook, and run 'jnvdocker runtime install"
                                + " --engine podman'"),
                found());
    }

    private static String installed(EngineKind engine, boolean standard, Optional<Refusal> wrong) {
        Registration registration =
                new Registration(
                        engine,
                        Path.of("/etc/c"),
                        engine == EngineKind.CDI ? "jnvdocker/gpu" : "nvidia",
                        Path.of("/opt/rt"),
                        Optional.empty());
        Optional<Path> real =
                Optional.of(Path.of("/usr/bin/runc")).filter(_ -> engine != EngineKind.CDI);
        Findings found = new Findings();
        RuntimeCheck.describe(new RuntimeHealth(registration, real, standard, wrong), found);
        return lines(found).getFirst();
    }

    @Test
    void installedRuntimesAreShownWithTheirFaults() {
        assertEquals(
                "docker's default runtime 'nvidia' is jnvdocker's, and runs /usr/bin/runc",
                installed(EngineKind.DOCKER, true, Optional.empty()));
        assertEquals(
                "podman's runtime 'nvidia' is jnvdocker's, and runs /usr/bin/runc",
                installed(EngineKind.PODMAN, false, Optional.empty()));
        assertEquals(
                "'--device jnvdocker/gpu=…' gives containers of any runtime exactly these GPUs",
                installed(EngineKind.CDI, false, Optional.empty()));
        assertEquals(
                "containerd's jnvdocker runtime: /opt/x is missing; install it again",
                installed(
                        EngineKind.CONTAINERD,
                        false,
                        Optional.of(new Refusal("/opt/x is missing", "install it again"))));
    }

    private static Lease lease(int id, String container, Origin origin) {
        Claim claim =
                new Claim(
                        ClaimKey.secretless("%012x".formatted(id)),
                        origin,
                        new Owner(1001, "alice"),
                        List.of(),
                        Instant.EPOCH,
                        Optional.of(new Claim.ContainerRef("id-of-" + container, container)));
        Holder holder = Holder.of(new ProcessId(4711, 100), Optional.empty(), Optional.empty());
        return new Lease(
                id, claim, holder, "boot", Instant.EPOCH, Optional.empty(), 1, Optional.empty());
    }

    private static List<String> paths(List<Lease> live, Predicate<String> created) {
        Findings found = new Findings();
        RuntimeCheck.paths(live, created, found);
        return lines(found);
    }

    @Test
    void containersAreListedByTheWayTheyHaveTheirGpus() {
        Origin oci = new Origin.OciContainer("/run/runc", Optional.empty());
        List<Lease> live =
                List.of(
                        lease(1, "train", oci),
                        lease(2, "by-name", oci),
                        lease(3, "plain", new Origin.EngineContainer("engine", Optional.empty())),
                        lease(4, "notebook", oci));
        assertEquals(
                List.of(
                        "GPUs by the OCI runtime: notebook, train",
                        "GPUs by jnvdocker's CDI devices: by-name",
                        "GPUs by 'jnvdocker run' and the volume plugin: plain"),
                paths(live, id -> !id.equals("id-of-by-name")));
        assertEquals(List.of(), paths(List.of(), _ -> true));
    }
}
