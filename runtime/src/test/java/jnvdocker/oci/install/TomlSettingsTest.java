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
import org.junit.jupiter.params.provider.ValueSource;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/** The configurations that are written in TOML: podman's, containerd's, and our own. */
class TomlSettingsTest {
    private static final Path FILE = Path.of("/etc/engine.conf");
    private static final Path PROGRAM = Path.of("/opt/rt/nvidia-container-runtime");

    private final ContainersConf podman = new ContainersConf();
    private final ContainerdConf containerd = new ContainerdConf();

    private static final Path MAIN = Path.of("/etc/containerd/config.toml");

    private static EngineSettings.Entry entry(boolean standard) {
        return entry(FILE, standard, "");
    }

    private static EngineSettings.Entry entry(Path file, boolean standard, String engines) {
        return new EngineSettings.Entry(
                file,
                "nvidia",
                PROGRAM,
                standard,
                List.of(),
                Optional.empty(),
                new EngineSettings.Part(MAIN, engines),
                List.of());
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
    void containerdHasAFileOfOursWhereItImportsADirectory() throws Exception {
        String runc = "[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc]\n";
        String engines =
                "version = 3\nimports = ['x.toml', 'conf.d/*.toml']\n"
                        + runc
                        + "runtime_type = 'io.containerd.runc.v2'\n"
                        + "options = {BinaryName = '/usr/local/bin/runc', SystemdCgroup = true}\n";
        Path ours = Path.of("/etc/containerd/conf.d/jnvdocker.toml");
        assertEquals(ours, containerd.file(MAIN, engines));
        assertEquals(
                Optional.of(Path.of("/usr/local/bin/runc")),
                containerd.standardProgram(engines, MAIN));
        String text = containerd.with("", entry(ours, true, engines));
        assertEquals(
                """
                # Written by 'jnvdocker runtime install', removed by 'jnvdocker runtime uninstall'.
                version = 3
                [plugins."io.containerd.cri.v1.runtime".containerd]
                  default_runtime_name = "nvidia"
                [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.nvidia]
                  runtime_type = "io.containerd.runc.v2"
                  pod_annotations = ["jnvdocker.gpus"]
                  container_annotations = ["jnvdocker.gpus"]
                [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.nvidia.options]
                  BinaryName = "/opt/rt/nvidia-container-runtime"
                  SystemdCgroup = true
                """,
                text);
        assertEquals(Optional.empty(), containerd.lines(text, entry(ours, true, engines)));
        assertEquals(found(true), containerd.find(text, ours, "nvidia"));
        assertEquals(
                Optional.empty(), containerd.without(text, registration(EngineKind.CONTAINERD)));
        String theirs = engines + runc.replace(".runc]", ".nvidia]") + "runtime_type = 'x'\n";
        RefusedException taken =
                assertThrows(
                        RefusedException.class,
                        () -> containerd.with("", entry(ours, false, theirs)));
        assertTrue(
                taken.getMessage().startsWith("the runtime 'nvidia' in " + MAIN + " is io."),
                taken.getMessage());
    }

    /** As NVIDIA's toolkit writes them since 1.18. */
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "CONTAINERD|[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.nvidia]"
                        + " options = {BinaryName = 'X'}",
                "CRIO|[crio.runtime.runtimes.nvidia] runtime_path = 'X'",
                "PODMAN|[engine.runtimes] nvidia = ['X']"
            })
    void nameThatAnotherFileOfTheDirectoryHasIsRefused(EngineKind engine, String text)
            throws Exception {
        EngineSettings settings = engine.settings();
        Path theirs = MAIN.resolveSibling("conf.d/99-nvidia.toml");
        Path ours = theirs.resolveSibling("jnvdocker.toml");
        String lines = text.replace("] ", "]\n");
        RefusedException taken =
                assertThrows(
                        RefusedException.class,
                        () -> settings.with("", beside(ours, theirs, lines)));
        assertEquals(
                "the runtime 'nvidia' in "
                        + theirs
                        + " is X, which is not jnvdocker's; remove it there, or choose another name"
                        + " with --name jnvdocker",
                taken.getMessage());
        settings.with("", beside(ours, theirs, lines.replace("nvidia", "other")));
        settings.with("", beside(ours, theirs, lines.replace("X", PROGRAM.toString())));
        settings.with("", beside(ours, theirs, "no = TOML ="));
    }

    private static EngineSettings.Entry beside(Path file, Path other, String text) {
        return new EngineSettings.Entry(
                file,
                "nvidia",
                PROGRAM,
                false,
                List.of(),
                Optional.empty(),
                new EngineSettings.Part(MAIN, "version = 3\n"),
                List.of(new EngineSettings.Part(other, text)));
    }

    @Test
    void fileOfOurNameThatIsAnothersStays() {
        RefusedException e =
                assertThrows(
                        RefusedException.class,
                        () ->
                                containerd.with(
                                        "version = 3\n",
                                        entry(
                                                MAIN.resolveSibling("conf.d/jnvdocker.toml"),
                                                false,
                                                "version = 3\n")));
        assertEquals(
                "/etc/containerd/conf.d/jnvdocker.toml is not jnvdocker's; give it another name",
                e.getMessage());
    }

    @Test
    void containerdsFileHasThePluginOfItsVersion() throws Exception {
        Path ours = Path.of("/etc/containerd/conf.d/jnvdocker.toml");
        String alone = containerd.with("", entry(ours, false, ""));
        assertTrue(alone.contains("version = 3\n"), alone);
        assertTrue(alone.contains("[plugins.\"io.containerd.cri.v1.runtime\"."), alone);
        String older = containerd.with("", entry(ours, false, "version = 2\n"));
        assertTrue(older.contains("version = 2\n"), older);
        assertTrue(older.contains("[plugins.\"io.containerd.grpc.v1.cri\"."), older);
    }

    @Test
    void swarmIsRefusedWhereLinesArePrinted() {
        EngineSettings.Entry entry =
                new EngineSettings.Entry(
                        MAIN,
                        "nvidia",
                        Path.of("/x"),
                        false,
                        List.of("NVIDIA-GPU=4"),
                        Optional.empty(),
                        new EngineSettings.Part(MAIN, "version = 2\n"),
                        List.of());
        RefusedException refused =
                assertThrows(RefusedException.class, () -> containerd.with("version = 2\n", entry));
        assertTrue(refused.getMessage().contains("containerd has no Swarm"), refused::getMessage);
    }

    /** containerd 1 takes a plugin's settings of one file alone, whatever it imports. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "version = 2\nimports = ['conf.d/*.toml']\n",
                "version = 3\n",
                "version = 3\nimports = ['a.toml']\n",
            })
    void otherwiseAnAdministratorAddsTheLines(String before) throws Exception {
        assertEquals(MAIN, containerd.file(MAIN, before));
        EngineSettings.Entry entry = entry(MAIN, false, before);
        assertEquals(before, containerd.with(before, entry));
        String lines = containerd.lines(before, entry).orElseThrow();
        assertTrue(lines.contains("containerd.runtimes.runc]\n"), lines);
        String after = before + lines;
        assertEquals(found(false), containerd.find(after, MAIN, "nvidia"));
        assertEquals(after, containerd.with(after, entry(MAIN, false, after)));
        assertEquals(Optional.empty(), containerd.lines(after, entry(MAIN, false, after)));
        assertEquals(
                Optional.of(after), containerd.without(after, registration(EngineKind.CONTAINERD)));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "root = '/x'| is of containerd's first format; run 'containerd",
                "version = 1| is of containerd's first format",
                "version = 2 x| /etc/containerd/config.toml:1 cannot be read",
            })
    void containerdsThatIsNotKnownIsRefused(String text, String reason) {
        RefusedException e =
                assertThrows(RefusedException.class, () -> containerd.file(MAIN, text));
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
