package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.host.Host;
import jnvdocker.labels.DriverVersion;
import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.DriverRoot;
import jnvdocker.volume.DriverVolume;
import jnvdocker.volume.DriverVolumeStore;
import jnvdocker.volume.GraphicsFile;
import jnvdocker.volume.Manifest;
import jnvdocker.volume.files.DriverVolumeException;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;

/**
 * The files of a real driver where other distributions and careful administrators put them, with
 * the loader cache that ldconfig makes of them: the volume is the same in every layout. Small hosts
 * and their faults are in volume-plugin's HostLayoutsTest.
 */
@Tag("root")
class RealHostLayoutsTest {
    private static final String MULTIARCH = "usr/lib/x86_64-linux-gnu";

    @TempDir Path directory;
    private DriverRoot root;
    private DriverVersion driver;
    private List<String> usual;

    @BeforeEach
    void layOutAsUsual() throws IOException {
        root = DriverRoot.make(DriverRoot.Release.DRIVER_535, 1);
        driver = DriverVersion.parse(root.version());
        usual = contents(build("usual"));
        assertTrue(usual.size() > 60, usual::toString);
    }

    @AfterEach
    void remove() {
        root.close();
    }

    @ParameterizedTest
    @ValueSource(strings = {"usr/lib64", "usr/lib", "opt/nvidia/lib"})
    void allLibrariesInOneDirectory(String there) throws IOException {
        move(MULTIARCH, there, "*");
        cache("/" + there);

        assertEquals(usual, contents(build("moved")));
    }

    @Test
    void librariesInTwoTreesWithLinksAcross() throws IOException {
        move(MULTIARCH, "opt/nvidia/lib64", "lib{cuda,nvidia-ml,nvidia-nvvm}*.so.*");
        move("usr/bin", "opt/nvidia/bin", "nvidia-{smi,debugdump}");
        for (String name : List.of("libcuda.so.1", "libnvidia-ml.so.1")) {
            Path link = root.directory().resolve(MULTIARCH).resolve(name);
            Files.createSymbolicLink(link, Path.of("/opt/nvidia/lib64").resolve(name));
        }
        cache("/opt/nvidia/lib64", "/" + MULTIARCH);

        DriverVolume volume = build("split");

        assertEquals(usual, contents(volume));
        assertEquals("/opt/nvidia/lib64/libcuda.so." + driver, source(volume, "libcuda.so."));
        assertEquals("/" + MULTIARCH + "/libnvoptix.so." + driver, source(volume, "libnvoptix"));
        assertEquals("/opt/nvidia/bin/nvidia-smi", source(volume, "nvidia-smi"));
    }

    @Test
    void noLoaderCacheAtAll() throws IOException {
        Files.delete(root.directory().resolve("etc/ld.so.cache"));
        assertEquals(usual, contents(build("bare")));

        move(MULTIARCH, "usr/lib64", "*");
        assertEquals(usual, contents(build("bare-lib64")));
    }

    /** The remaining part may contain all of the library's headers. */
    @ParameterizedTest
    @ValueSource(ints = {1, 50, 90, 98})
    void libraryThatLostItsEnd(int percent) throws IOException {
        String name = MULTIARCH + "/libcuda.so." + driver;
        cut(name, percent);

        String text = refusal();
        String expected =
                "the library of driver "
                        + driver
                        + " cannot be used: /"
                        + name
                        + ": not a library or program that could be loaded: it ends before byte ";
        assertTrue(text.startsWith(expected), text);
        assertTrue(text.endsWith("; install that driver's user-space part again"), text);
    }

    @Test
    void volumeOfAHalfInstalledDriverIsFoundOutWhenTheRestIsThere() throws IOException {
        Path library = root.directory().resolve(MULTIARCH).resolve("libnvidia-ml.so." + driver);
        Path later = directory.resolve("later");
        Files.move(library, later);
        DriverVolume volume = build("half");
        assertEquals(List.of(), volume.verify(host()));
        Files.move(later, library);

        List<String> problems = volume.verify(host());
        assertEquals(
                List.of(
                        volume.path().resolve("lib64/libnvidia-ml.so." + driver)
                                + " is missing: the host has got /"
                                + root.directory().relativize(library)
                                + " since"),
                problems);
    }

    /** The graphics files of Debian's packages, in which nvoptix.bin is among the libraries. */
    @ParameterizedTest
    @EnumSource
    void graphicsFilesOfEachRelease(DriverRoot.Release release) throws IOException {
        List<String> expected =
                new ArrayList<>(
                        List.of(
                                "/etc/vulkan/icd.d/nvidia_icd.json",
                                "/etc/vulkan/implicit_layer.d/nvidia_layers.json",
                                "/usr/share/glvnd/egl_vendor.d/10_nvidia.json",
                                "/usr/share/egl/egl_external_platform.d/10_nvidia_wayland.json"));
        if (release != DriverRoot.Release.DRIVER_470) {
            expected.add("/usr/share/egl/egl_external_platform.d/15_nvidia_gbm.json");
            expected.add("/usr/share/nvidia/nvoptix.bin");
        }
        try (DriverRoot other = DriverRoot.make(release, 1)) {
            DriverVolume volume =
                    new DriverVolumeStore(directory.resolve("graphics"))
                            .build(
                                    Host.at(other.directory()),
                                    DriverVersion.parse(other.version()));
            assertEquals(
                    expected.stream().sorted().toList(),
                    volume.graphics().stream().map(GraphicsFile::target).sorted().toList());
            assertEquals(List.of(), volume.verify(Host.at(other.directory())));
        }
    }

    private Host host() throws IOException {
        return Host.at(root.directory());
    }

    private DriverVolume build(String name) throws IOException {
        return new DriverVolumeStore(directory.resolve(name)).build(host(), driver);
    }

    private String refusal() {
        return assertThrows(DriverVolumeException.class, () -> build("refused")).getMessage();
    }

    /** Names, link targets, sizes. */
    private List<String> contents(DriverVolume volume) throws IOException {
        assertEquals(List.of(), volume.verify(host()));
        return Command.of("find", ".", "-path", "./*/*", "-printf", "%P %l %s\n")
                .in(volume.path())
                .run()
                .ok()
                .out()
                .lines()
                .sorted()
                .toList();
    }

    private static String source(DriverVolume volume, String name) {
        return volume.manifest().files().stream()
                .filter(file -> file.name().startsWith(name))
                .findFirst()
                .map(Manifest.Entry::source)
                .orElseThrow();
    }

    /** Moves the files that match a pattern from one directory into another, subdirectories too. */
    private void move(String from, String to, String pattern) throws IOException {
        Path there = Files.createDirectories(root.directory().resolve(to));
        try (Stream<Path> files = stream(root.directory().resolve(from), pattern)) {
            for (Path file : files.toList()) {
                Files.move(file, there.resolve(file.getFileName()));
            }
        }
    }

    private static Stream<Path> stream(Path directory, String pattern) throws IOException {
        var matcher = directory.getFileSystem().getPathMatcher("glob:" + pattern);
        return Files.list(directory).filter(file -> matcher.matches(file.getFileName()));
    }

    private void cache(String... directories) {
        root.write("etc/ld.so.conf", String.join("\n", directories) + "\n");
        Command.of("ldconfig", "-r", root.directory()).run().ok();
    }

    /** Replaces the file rather than writing to it, since it has other hard links. */
    private void cut(String file, int percent) throws IOException {
        Path path = root.directory().resolve(file);
        byte[] bytes = Files.readAllBytes(path);
        Files.delete(path);
        Files.write(path, Arrays.copyOf(bytes, (int) (bytes.length * (long) percent / 100)));
    }
}
