package jnvdocker.volume;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import static java.nio.charset.StandardCharsets.UTF_8;

import jnvdocker.volume.files.DriverFiles.LeftOut;
import jnvdocker.volume.files.MalformedFileException;
import jnvdocker.volume.files.Reason;
import jnvdocker.volume.files.TestingElf;
import jnvdocker.volume.files.TestingHost;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/** The list of a driver volume on disk. */
class ManifestTest {
    private static final String LIB = TestingHost.LIB;

    private static final String WRITTEN =
            """
            {
              "format" : 1,
              "version" : "535.104.05",
              "files" : [
                {
                  "directory" : "bin",
                  "name" : "nvidia-smi",
                  "size" : 1,
                  "cloned" : "link",
                  "source" : "/usr/bin/nvidia-smi"
                },
                {
                  "directory" : "lib64",
                  "name" : "libcuda.so.535.104.05",
                  "size" : 1,
                  "cloned" : "link",
                  "source" : "/usr/lib/x86_64-linux-gnu/libcuda.so.535.104.05"
                },
                {
                  "directory" : "lib64",
                  "name" : "libnvidia-ml.so.535.104.05",
                  "size" : 1,
                  "cloned" : "link",
                  "source" : "/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.535.104.05"
                }
              ],
              "links" : [
                {
                  "directory" : "lib64",
                  "name" : "libcuda.so",
                  "target" : "libcuda.so.535.104.05"
                },
                {
                  "directory" : "lib64",
                  "name" : "libcuda.so.1",
                  "target" : "libcuda.so.535.104.05"
                },
                {
                  "directory" : "lib64",
                  "name" : "libnvidia-ml.so.1",
                  "target" : "libnvidia-ml.so.535.104.05"
                }
              ],
              "graphics" : [ ],
              "leftOut" : [
                {
                  "path" : "/usr/bin/nvidia-modprobe",
                  "reason" : "manages the host's driver"
                },
                {
                  "path" : "/usr/lib/x86_64-linux-gnu/libnvidia-cfg.so.535.104.05",
                  "reason" : "not a library or program that could be loaded: it ends before byte 16"
                },
                {
                  "path" : "/usr/lib/x86_64-linux-gnu/libnvidia-encode.so.470.256.02",
                  "reason" : "belongs to driver 470.256.02"
                }
              ]
            }\
            """;

    @TempDir Path directory;
    private TestingHost host;
    private DriverVolumeStore store;

    @BeforeEach
    void installDriver() throws IOException {
        host = TestingHost.withDriver(directory.resolve("host"));
        host.library(LIB, "libnvidia-encode.so.470.256.02", "libnvidia-encode.so.1");
        Files.write(host.path(LIB + "/libnvidia-cfg.so." + TestingHost.VERSION), new byte[3]);
        host.file("/usr/bin/nvidia-modprobe", TestingElf.library());
        store = new DriverVolumeStore(directory.resolve("state"));
    }

    /** A path that would lead out of the volume, or that no driver has. */
    @ParameterizedTest
    @ValueSource(strings = {"share/../../x", "/etc/passwd", "share/nvidia/other", ""})
    void graphicsFileThatIsNoneOfTheListIsNoManifests(String path) {
        String json =
                WRITTEN.replace(
                        "\"graphics\" : [ ]",
                        "\"graphics\" : [{\"path\": \""
                                + path
                                + "\", \"size\": 1, \"cloned\": \"link\", \"source\": \"/x\"}]");
        assertThrows(
                MalformedFileException.class,
                () -> Manifest.parse(json.getBytes(UTF_8), TestingHost.VERSION));
    }

    @Test
    void isWrittenAsByEarlierReleases() throws IOException {
        Path volume = store.build(host.host(), TestingHost.VERSION).path();
        assertEquals(
                WRITTEN,
                Files.readString(volume.resolve(Manifest.NAME))
                        .replaceAll("\"size\" : [0-9]+", "\"size\" : 1"));
    }

    @Test
    void volumeOfAnEarlierReleaseIsUsedAsItIs() throws IOException {
        DriverVolume built = store.build(host.host(), TestingHost.VERSION);
        Object inode = Files.getAttribute(built.path(), "unix:ino");
        Path file = built.path().resolve(Manifest.NAME);
        String more =
                """
                "leftOut" : [ { "path" : "/x", "reason" : "as another release has it" },\
                """;
        Files.writeString(file, Files.readString(file).replace("\"leftOut\" : [", more));

        DriverVolumeStore now = new DriverVolumeStore(directory.resolve("state"));
        DriverVolume there = now.build(host.host(), TestingHost.VERSION);
        assertEquals(inode, Files.getAttribute(there.path(), "unix:ino"));
        assertEquals(List.of(), there.verify(host.host()));
        assertEquals(
                List.of(
                        new LeftOut("/x", new Reason.Fault("as another release has it")),
                        new LeftOut("/usr/bin/nvidia-modprobe", Reason.Rule.HOST_ONLY),
                        new LeftOut(
                                LIB + "/libnvidia-cfg.so.535.104.05",
                                new Reason.Fault(
                                        "not a library or program that could be loaded: it ends"
                                                + " before byte 16")),
                        new LeftOut(
                                LIB + "/libnvidia-encode.so.470.256.02",
                                new Reason.OtherDriver("470.256.02"))),
                there.manifest().leftOut());
    }

    /** No release has left a file out without saying why. */
    @Test
    void fileThatIsLeftOutWithoutAReasonIsNoManifests() throws IOException {
        DriverVolume built = store.build(host.host(), TestingHost.VERSION);
        Path file = built.path().resolve(Manifest.NAME);
        String json = Files.readString(file);
        Files.writeString(
                file,
                json.replace("\"reason\" : \"manages the host's driver\"", "\"reason\" : null"));
        assertEquals(
                Optional.empty(),
                new DriverVolumeStore(directory.resolve("state")).find(TestingHost.VERSION));
    }
}
