package jnvdocker.oci.install;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.words.RefusedException;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/** The configurations that are written in TOML: podman's, containerd's, and our own. */
class TomlSettingsTest {
    private static final Path FILE = Path.of("/etc/engine.conf");
    private static final Path PROGRAM = Path.of("/opt/rt/nvidia-container-runtime");

    private final ContainersConf podman = new ContainersConf();
    private final ContainerdToml containerd = new ContainerdToml();

    private static EngineSettings.Entry entry(boolean standard, EngineSettings.Part... imports) {
        return new EngineSettings.Entry(
                FILE, "nvidia", PROGRAM, standard, List.of(), Optional.empty(), List.of(imports));
    }

    private static Registration registration(EngineKind engine) {
        return new Registration(engine, FILE, "nvidia", PROGRAM.getParent(), Optional.empty());
    }

    private static Optional<EngineSettings.Found> found(boolean standard) {
        return Optional.of(new EngineSettings.Found(PROGRAM, standard));
    }

    @Test
    void podmanHasAFileOfOurs() throws Exception {
        for (boolean standard : List.of(false, true)) {
            String text = podman.with("", entry(standard));
            assertEquals(found(standard), podman.find(text, FILE, "nvidia"));
            assertEquals(text, podman.with(text, entry(standard)));
            assertEquals(Optional.empty(), podman.without(text, registration(EngineKind.PODMAN)));
        }
        String theirs = "[engine]\nruntime = \"crun\"\n";
        RefusedException e =
                assertThrows(RefusedException.class, () -> podman.with(theirs, entry(false)));
        assertEquals(
                "/etc/engine.conf is not jnvdocker's; name a file of its own with --config, such"
                        + " as /etc/containers/containers.conf.d/jnvdocker.conf",
                e.getMessage());
        assertEquals(Optional.of(theirs), podman.without(theirs, registration(EngineKind.PODMAN)));
    }

    @Test
    void crioHasAFileOfOurs() throws Exception {
        CrioConf crio = new CrioConf();
        String text = crio.with("", entry(true));
        assertEquals(
                """
                # Written by 'jnvdocker runtime install', removed by 'jnvdocker runtime uninstall'.
                [crio.runtime]
                default_runtime = "nvidia"

                [crio.runtime.runtimes.nvidia]
                runtime_path = "/opt/rt/nvidia-container-runtime"
                """,
                text);
        assertEquals(found(true), crio.find(text, FILE, "nvidia"));
        assertEquals(found(false), crio.find(crio.with(text, entry(false)), FILE, "nvidia"));
        assertEquals(Optional.empty(), crio.find(text, FILE, "runc"));
        assertEquals(Optional.empty(), crio.without(text, registration(EngineKind.CRIO)));
        RefusedException e =
                assertThrows(RefusedException.class, () -> crio.with("[crio]\n", entry(false)));
        assertTrue(e.getMessage().contains("/etc/crio/crio.conf.d/99-jnvdocker.conf"));
    }

    @Test
    void containerdsHandlerIsLikeItsOwnAndStandsAtTheEnd() throws Exception {
        String before =
                """
                version = 2 # of ours
                [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
                  runtime_type = "io.containerd.runc.v2"
                  pod_annotations = ["a.*", "b"]
                  privileged_without_host_devices = false
                  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
                    BinaryName = "/usr/local/bin/runc"
                    SystemdCgroup = true\
                """;
        String after = containerd.with(before, entry(false));
        assertEquals(
                before
                        + """

                        # jnvdocker runtime install: begin
                        [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.nvidia]
                          runtime_type = "io.containerd.runc.v2"
                          privileged_without_host_devices = false
                          pod_annotations = ["a.*", "b", "jnvdocker.gpus"]
                          container_annotations = ["jnvdocker.gpus"]
                        [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.nvidia.options]
                          BinaryName = "/opt/rt/nvidia-container-runtime"
                          SystemdCgroup = true
                        # jnvdocker runtime install: end
                        """,
                after);
        assertEquals(after, containerd.with(after, entry(false)));
        assertEquals(found(false), containerd.find(after, FILE, "nvidia"));
        assertEquals(
                Optional.of(Path.of("/usr/local/bin/runc")),
                containerd.standardProgram(after, FILE));
        assertEquals(
                Optional.of(before + "\n"),
                containerd.without(after, registration(EngineKind.CONTAINERD)));
    }

    /**
     * As k3s, RKE2 and k0s have it: the handler is added to a copy of what they generate, and what
     * is between the comments goes into their template.
     */
    @ParameterizedTest
    @CsvSource({
        "2, plugins.\"io.containerd.grpc.v1.cri\".containerd.runtimes",
        "3, plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes"
    })
    void partBetweenTheCommentsFitsATemplate(int version, String runtimes) throws Exception {
        String generated =
                """
                version = %d
                root = "/var/lib/rancher/k3s/agent/containerd"
                state = "/run/k3s/containerd"
                [grpc]
                  address = "/run/k3s/containerd/containerd.sock"
                [%s.runc]
                  runtime_type = "io.containerd.runc.v2"
                [%s.runc.options]
                  SystemdCgroup = true
                """
                        .formatted(version, runtimes, runtimes);
        String copy = containerd.with(generated, entry(false));
        String ours = copy.substring(copy.indexOf("# jnvdocker runtime install: begin"));
        assertTrue(ours.contains("  SystemdCgroup = true\n"), ours);
        assertFalse(ours.contains("runtimes.runc]"), ours);
        // Generated again, with other addresses, before ours.
        String again = generated.replace("/run/k3s/", "/run/other/") + ours;
        assertEquals(found(false), containerd.find(again, FILE, "nvidia"));
    }

    /**
     * In containerd 2 each value counts that comes last; earlier ones take one file's plugin whole.
     */
    @Test
    void importedFilesOfContainerdCount() throws Exception {
        String runc = "[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc.options]\n";
        String main = "version = 3\n" + runc + "SystemdCgroup = false\nIoUid = 1\n";
        Path file = Path.of("/etc/containerd/conf.d/a.toml");
        String after =
                containerd.with(
                        main,
                        entry(
                                false,
                                new EngineSettings.Part(
                                        file, "version = 3\n" + runc + "SystemdCgroup = true")));
        assertTrue(
                after.contains(
                        "  BinaryName = \""
                                + PROGRAM
                                + "\"\n  IoUid = 1\n  SystemdCgroup = true\n"),
                after);
        String theirs = runc.replace(".runc.", ".nvidia.") + "BinaryName = \"/theirs\"\n";
        RefusedException taken =
                assertThrows(
                        RefusedException.class,
                        () ->
                                containerd.with(
                                        main, entry(false, new EngineSettings.Part(file, theirs))));
        assertTrue(
                taken.getMessage().startsWith("the runtime 'nvidia' in " + file + " is /theirs"),
                taken.getMessage());
        String old = "[plugins.'io.containerd.grpc.v1.cri']\nenable_selinux = true\n";
        assertEquals(
                containerd.with(main, entry(false)),
                containerd.with(main, entry(false, new EngineSettings.Part(file, old))));
        RefusedException replaced =
                assertThrows(
                        RefusedException.class,
                        () ->
                                containerd.with(
                                        "version = 2\n",
                                        entry(false, new EngineSettings.Part(file, old))));
        assertTrue(replaced.getMessage().endsWith("with --config " + file), replaced.getMessage());
    }

    @Test
    void containerdWithoutAConfigurationGetsOne() throws Exception {
        String made = containerd.with("", entry(true));
        assertEquals(found(true), containerd.find(made, FILE, "nvidia"));
        assertTrue(containerd.find(made, FILE, "runc").isPresent(), made);
        assertTrue(made.contains("  pod_annotations = [\"jnvdocker.gpus\"]\n"), made);
        assertEquals(
                Optional.empty(), containerd.without(made, registration(EngineKind.CONTAINERD)));
        assertTrue(
                containerd
                        .with("version = 3\n", entry(true))
                        .contains("[plugins.\"io.containerd.cri.v1.runtime\".containerd]\n"));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "root = '/x'| is of containerd's first format; run 'containerd",
                "version = 1| is of containerd's first format",
                "version = 2 x| /etc/engine.conf:1 cannot be read",
                "version = 2~[plugins.'io.containerd.grpc.v1.cri'.containerd]~runtimes = {}"
                        + "| says already which handlers",
                "version = 2~[plugins.'io.containerd.grpc.v1.cri'.containerd.runtimes.nvidia]"
                        + "| is io.containerd.runc.v2, which is not jnvdocker's",
            })
    void containerdsThatLeavesNoPlaceIsRefused(String text, String reason) {
        RefusedException e =
                assertThrows(
                        RefusedException.class,
                        () -> containerd.with(text.replace('~', '\n'), entry(true)));
        assertTrue(e.getMessage().contains(reason), e.getMessage());
    }

    @Test
    void imagesGetNoneByAFileOfOurOwnRuntime(@TempDir Path directory) throws Exception {
        Path file = directory.resolve("config.toml");
        OwnConfig config = new OwnConfig(file);
        assertEquals(Optional.empty(), config.imageNeed());
        Files.writeString(file, "[runtime]\nimage_need = \"default_gpus\"\n");
        assertEquals(Optional.of("default_gpus"), config.imageNeed());
        config.giveImagesNone();
        assertEquals(Optional.of("none"), config.imageNeed());
        assertEquals(List.of(file, directory.resolve("config.d/runtime.toml")), config.files());
        assertTrue(config.removeOwn());
        assertEquals(Optional.of("default_gpus"), config.imageNeed());
        assertFalse(config.removeOwn());
        Files.writeString(config.own(), "[runtime]\nimage_need = \"none\"\n");
        assertFalse(config.removeOwn(), "it is the administrator's by now");
    }
}
