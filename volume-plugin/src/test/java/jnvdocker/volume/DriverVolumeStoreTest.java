package jnvdocker.volume;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import jnvdocker.labels.DriverVersion;
import jnvdocker.volume.files.DriverFiles;
import jnvdocker.volume.files.DriverVolumeException;
import jnvdocker.volume.files.TestingElf;
import jnvdocker.volume.files.TestingHost;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.IOException;
import java.nio.file.FileStore;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

class DriverVolumeStoreTest {
    private static final DriverVersion VERSION = TestingHost.VERSION;
    private static final String LIBCUDA = "lib64/libcuda.so." + VERSION;

    @TempDir Path directory;
    private Path state;
    private Path root;
    private TestingHost host;
    private DriverVolumeStore store;

    @BeforeEach
    void installDriver() throws IOException {
        state = directory.toRealPath().resolve("state");
        root = state.resolve("volumes/nvidia_driver");
        host = TestingHost.withDriver(directory.resolve("host"));
        store = new DriverVolumeStore(state);
    }

    @Test
    void volumeIsLaidOutAsImagesExpect() throws Exception {
        DriverVolume volume = store.build(host.host(), VERSION);

        assertEquals(root.resolve(VERSION.text()), volume.path());
        assertEquals(
                List.of("bin", "lib", "lib64", "manifest.json"),
                DirectoryTree.names(volume.path()));
        assertEquals(List.of("nvidia-smi"), DirectoryTree.names(volume.path().resolve("bin")));
        assertEquals(
                Path.of("libcuda.so." + VERSION),
                Files.readSymbolicLink(volume.path().resolve("lib64/libcuda.so.1")));
        assertEquals(
                host.find().files().stream().mapToLong(DriverFiles.DriverFile::size).sum(),
                volume.bytes());
        assertEquals(List.of(), volume.verify(host.host()));
        assertNothingLeft();
    }

    @Test
    void filesAreTheHostsOwnAndUnchanged() throws Exception {
        Path source = host.path(TestingHost.LIB + "/libcuda.so." + VERSION);
        Files.setPosixFilePermissions(source, PosixFilePermissions.fromString("rw-rw-r--"));

        DriverVolume volume = store.build(host.host(), VERSION);

        assertEquals(Map.of(CopyMethod.LINK, 3), volume.cloned());
        assertTrue(Files.isSameFile(source, volume.path().resolve(LIBCUDA)));
        assertEquals("rw-rw-r--", permissions(source));
    }

    @Test
    void copiesAreReadOnlyAndProgramsStayPrograms() throws Exception {
        Path program = host.path("/usr/bin/nvidia-smi");
        Files.setPosixFilePermissions(program, PosixFilePermissions.fromString("rwxr-x--x"));

        DriverVolume volume = copying().build(host.host(), VERSION);

        assertEquals(Map.of(CopyMethod.COPY, 3), volume.cloned());
        assertEquals("r--r--r--", permissions(volume.path().resolve(LIBCUDA)));
        assertEquals("r-xr-xr-x", permissions(volume.path().resolve("bin/nvidia-smi")));
        assertEquals("rwxr-x--x", permissions(program));
        assertEquals(List.of(), volume.verify(host.host()));
    }

    @Test
    void otherFileSystemGetsCopies() throws Exception {
        Path memory = Path.of("/dev/shm");
        assumeTrue(Files.isWritable(memory), "no /dev/shm here");
        FileStore there = Files.getFileStore(memory);
        assumeTrue(
                !there.equals(Files.getFileStore(directory)), "/dev/shm is no other file system");
        Path other = Files.createTempDirectory(memory, "volume");
        try {
            DriverVolume volume = new DriverVolumeStore(other).build(host.host(), VERSION);
            assertEquals(Map.of(CopyMethod.COPY, 3), volume.cloned());
            assertEquals(List.of(), volume.verify(host.host()));
        } finally {
            DirectoryTree.delete(other);
        }
    }

    @Test
    void anyoneMayEnterAndRead() throws Exception {
        DriverVolume volume = store.build(host.host(), VERSION);

        assertEquals("rwxr-xr-x", permissions(volume.path()));
        assertEquals("rwxr-xr-x", permissions(volume.path().resolve("lib64")));
        assertEquals("rw-r--r--", permissions(volume.path().resolve("manifest.json")));
    }

    @Test
    void secondBuildIsTheFirst() throws Exception {
        DriverVolume first = store.build(host.host(), VERSION);
        Object inode = Files.getAttribute(first.path(), "unix:ino");

        assertEquals(first, store.build(host.host(), VERSION));
        assertEquals(first, new DriverVolumeStore(state).build(host.host(), VERSION));
        assertEquals(inode, Files.getAttribute(first.path(), "unix:ino"));
    }

    @Test
    void knownVolumeIsNotReadAgain() throws Exception {
        DriverVolume built = store.build(host.host(), VERSION);
        age(built.path());

        DriverVolume known = store.build(host.host(), VERSION);
        assertSame(known, store.build(host.host(), VERSION));
        assertSame(known, store.find(VERSION).orElseThrow());
    }

    @Test
    void deletedVolumeIsNoticedAndBuiltAgain() throws Exception {
        DriverVolume volume = store.build(host.host(), VERSION);
        age(volume.path());
        store.build(host.host(), VERSION);

        DirectoryTree.delete(volume.path());

        assertEquals(Optional.empty(), store.find(VERSION));
        assertTrue(Files.exists(store.build(host.host(), VERSION).path().resolve(LIBCUDA)));
    }

    @Test
    void missingLibraryIsNoticedAndBuiltAgain() throws Exception {
        DriverVolume volume = store.build(host.host(), VERSION);
        age(volume.path());
        store.build(host.host(), VERSION);

        Files.delete(volume.path().resolve(LIBCUDA));

        assertEquals(Optional.empty(), store.find(VERSION));
        assertTrue(Files.exists(store.build(host.host(), VERSION).path().resolve(LIBCUDA)));
        assertNothingLeft();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "null",
                "[]",
                "{",
                "{\"format\":2}",
                "{\"format\":1,\"version\":\"1.2\",\"files\":[],\"links\":[],\"leftOut\":[]}",
                "{\"format\":1,\"version\":\"535.104.05\",\"files\":null}",
                "{\"format\":1,\"version\":\"535.104.05\",\"links\":[],\"leftOut\":[],\"files\":"
                    + "[{\"directory\":\"lib\",\"name\":\"../x\",\"size\":1,\"cloned\":\"copy\","
                    + "\"source\":\"/x\"}]}",
                "{\"format\":1,\"version\":\"535.104.05\",\"files\":[],\"leftOut\":[],\"links\":"
                        + "[{\"directory\":\"etc\",\"name\":\"x\",\"target\":\"y\"}]}",
                "{\"format\":1,\"version\":\"535.104.05\",\"files\":[],\"leftOut\":[],\"links\":"
                        + "[{\"directory\":\"lib\",\"name\":\"x\",\"target\":\"/etc/passwd\"}]}"
            })
    void directoryWithoutValidManifestIsBuiltAgain(String json) throws Exception {
        DriverVolume volume = store.build(host.host(), VERSION);
        Files.writeString(volume.path().resolve("manifest.json"), json);

        DriverVolumeStore other = new DriverVolumeStore(state);
        assertEquals(Optional.empty(), other.find(VERSION));
        assertEquals(List.of(), other.list());
        assertEquals(List.of(), other.build(host.host(), VERSION).verify(host.host()));
        assertNothingLeft();
    }

    @Test
    void remainsOfDeadBuildersAreRemoved() throws Exception {
        Path remains = root.resolve(".building-535.104.05-x/lib64");
        Files.createDirectories(remains);
        Files.createSymbolicLink(remains.resolve("away"), host.path("/usr/lib"));
        Files.createDirectories(root.resolve(".removed-1.2-x"));
        Files.createDirectories(root.resolve("not-ours"));

        store.build(host.host(), VERSION);

        assertEquals(List.of(".lock", VERSION.text(), "not-ours"), DirectoryTree.names(root));
        assertTrue(Files.exists(host.path("/usr/lib")), "links in remains are not followed");
    }

    @Test
    void failedBuildLeavesNothing() throws Exception {
        DriverVersion other = DriverVersion.parse("550.54.14");
        assertThrows(DriverVolumeException.class, () -> store.build(host.host(), other));
        assertEquals(List.of(".lock"), DirectoryTree.names(root));
    }

    @Test
    void fileInTheWayIsNamedWithTheRemedy() throws Exception {
        Files.writeString(state, "");
        String text =
                assertThrows(DriverVolumeException.class, () -> store.build(host.host(), VERSION))
                        .getMessage();
        assertTrue(text.contains(state.toString()), text);
        assertTrue(text.contains("JNVDOCKER_STATE_DIR"), text);
        assertFalse(text.contains("Exception"), text);
    }

    @Test
    void volumesAreListedFoundAndRemoved() throws Exception {
        assertEquals(List.of(), store.list());
        assertEquals(Optional.empty(), store.find(VERSION));
        assertFalse(store.remove(VERSION));
        host.file(TestingHost.LIB + "/libcuda.so.550.54.14", TestingElf.library("libcuda.so.1"));
        DriverVolume newer = store.build(host.host(), DriverVersion.parse("550.54.14"));
        DriverVolume older = store.build(host.host(), VERSION);

        assertEquals(List.of(older, newer), store.list());
        assertTrue(store.remove(VERSION));
        assertEquals(List.of(newer), store.list());
        assertEquals(Optional.empty(), store.find(VERSION));
        assertTrue(Files.exists(host.path(TestingHost.LIB + "/libcuda.so." + VERSION)));
    }

    @Test
    void verifySaysWhatIsWrong() throws Exception {
        DriverVolume volume = copying().build(host.host(), VERSION);
        Path libraries = volume.path().resolve("lib64");
        Path libcuda = libraries.resolve("libcuda.so." + VERSION);
        byte[] bytes = Files.readAllBytes(libcuda);
        bytes[bytes.length - 1]++;
        replace(libcuda, bytes);
        replace(libraries.resolve("libnvidia-ml.so." + VERSION), new byte[3]);
        Files.delete(libraries.resolve("libcuda.so.1"));
        Files.delete(volume.path().resolve("bin/nvidia-smi"));
        Files.writeString(libraries.resolve("extra"), "");

        String problems = String.join("\n", volume.verify(host.host()));
        assertTrue(problems.contains(libcuda + " differs from the host's"), problems);
        assertTrue(problems.contains("libnvidia-ml.so." + VERSION + " has 3 bytes"), problems);
        assertTrue(problems.contains("libcuda.so.1 is missing"), problems);
        assertTrue(problems.contains("nvidia-smi is missing"), problems);
        assertTrue(problems.contains("extra does not belong there"), problems);
    }

    @Test
    void danglingLinkIsSeen() throws Exception {
        DriverVolume volume = store.build(host.host(), VERSION);
        Files.delete(volume.path().resolve(LIBCUDA));

        String problems = String.join("\n", volume.verify(host.host()));
        assertTrue(problems.contains("libcuda.so.1 leads to libcuda.so." + VERSION), problems);
    }

    @Test
    void fileThatTheHostHasGotSinceIsMissing() throws Exception {
        DriverVolume volume = store.build(host.host(), VERSION);
        host.library(TestingHost.LIB, "libnvidia-cfg.so." + VERSION, "libnvidia-cfg.so.1");

        Path missing = volume.path().resolve("lib64/libnvidia-cfg.so." + VERSION);
        Path there = Path.of(TestingHost.LIB).resolve(missing.getFileName());
        assertEquals(
                List.of(missing + " is missing: the host has got " + there + " since"),
                volume.verify(host.host()));
    }

    @Test
    void volumeOfADriverThatTheHostNoLongerHasIsFine() throws Exception {
        DriverVolume volume = store.build(host.host(), VERSION);
        Files.delete(host.path(TestingHost.LIB + "/libcuda.so." + VERSION));
        assertEquals(List.of(), volume.verify(host.host()));
    }

    @Test
    void replacedVolumeIsAnotherDirectory() throws Exception {
        DriverVolume volume = store.build(host.host(), VERSION);
        Object before = Files.getAttribute(volume.path(), "unix:ino");
        Files.delete(volume.path().resolve("manifest.json"));
        store.build(host.host(), VERSION);
        assertNotEquals(before, Files.getAttribute(volume.path(), "unix:ino"));
    }

    private DriverVolumeStore copying() {
        return new DriverVolumeStore(state, Set.of());
    }

    private void assertNothingLeft() throws IOException {
        assertEquals(List.of(".lock", VERSION.text()), DirectoryTree.names(root));
    }

    /** Backdates a volume beyond the clock tick in which changes cannot be distinguished. */
    private static void age(Path volume) throws IOException {
        FileTime old = FileTime.from(Instant.now().minusSeconds(60));
        for (String name : List.of("", "bin", "lib", "lib64", "manifest.json")) {
            Files.setLastModifiedTime(volume.resolve(name), old);
        }
    }

    private static void replace(Path file, byte[] bytes) throws IOException {
        Files.delete(file);
        Files.write(file, bytes);
    }

    private static String permissions(Path file) throws IOException {
        return PosixFilePermissions.toString(Files.getPosixFilePermissions(file));
    }
}
