package jnvdocker.oci.root;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.container.CompatLibraries;
import jnvdocker.container.DriverSearch;
import jnvdocker.container.SearchedName;
import jnvdocker.volume.files.Directory;
import jnvdocker.volume.files.LdCache;
import jnvdocker.volume.files.Machine;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/** Roots of containers, most of them hostile: nothing outside of one is ever changed. */
@Timeout(60)
class DriverNamesTest {
    private static final DriverSearch NAMES =
            new DriverSearch(
                    CompatLibraries.NONE,
                    List.of(
                            new SearchedName(Directory.BIN, "nvidia-smi", true),
                            new SearchedName(Directory.LIB64, "libcuda.so", true),
                            new SearchedName(Directory.LIB64, "libcuda.so.1", true),
                            new SearchedName(Directory.LIB64, "libcuda.so.535.1", false)));

    @TempDir Path directory;
    private Path root;
    private Path outside;
    private String libraries;

    @BeforeEach
    void makeRoot() throws IOException {
        root = directory.resolve("root");
        outside = Files.createDirectories(directory.resolve("outside"));
        libraries = "usr/lib/" + Machine.ofThisMachine().triplet();
        for (String each :
                List.of("usr/bin", "usr/lib64", libraries, "etc/ld.so.conf.d", "lib64")) {
            Files.createDirectories(root.resolve(each));
        }
        Path loader = root.resolve(Machine.ofThisMachine().loader().substring(1));
        Files.createDirectories(loader.getParent());
        Files.writeString(loader, "");
    }

    private String put() throws IOException {
        return DriverNames.put(root, NAMES).obstacle().map(Record::toString).orElse("");
    }

    private LdCache cache() throws IOException {
        return LdCache.parse(Files.readAllBytes(root.resolve("etc/ld.so.cache")));
    }

    private List<String> cached(String name) throws IOException {
        return cache().entries().stream()
                .filter(entry -> entry.name().equals(name))
                .map(LdCache.Entry::path)
                .toList();
    }

    private static List<String> list(Path directory) throws IOException {
        try (Stream<Path> files = Files.list(directory)) {
            return files.map(file -> file.getFileName().toString()).sorted().toList();
        }
    }

    @Test
    void namesAreWhereLoaderCompilerAndShellSearch() throws IOException {
        assertEquals("", put());
        assertEquals(List.of("libcuda.so", "libcuda.so.1"), list(root.resolve(libraries)));
        assertEquals(
                Path.of("/usr/local/nvidia/lib64/libcuda.so.1"),
                Files.readSymbolicLink(root.resolve(libraries + "/libcuda.so.1")));
        assertEquals(List.of("nvidia-smi"), list(root.resolve("usr/bin")));
        assertEquals(
                List.of("/usr/local/nvidia/lib64/libcuda.so.535.1"), cached("libcuda.so.535.1"));
        assertEquals(List.of("00-jnvdocker.conf"), list(root.resolve("etc/ld.so.conf.d")));
        assertEquals(List.of(), list(root.resolve("usr/lib64")));
    }

    @Test
    void secondStartChangesNothing() throws IOException {
        put();
        Path cache = root.resolve("etc/ld.so.cache");
        byte[] bytes = Files.readAllBytes(cache);
        Object inode = Files.getAttribute(cache, "unix:ino");
        assertEquals("", put());
        assertEquals(inode, Files.getAttribute(cache, "unix:ino"));
        assertArrayEquals(bytes, Files.readAllBytes(cache));
    }

    /** The entries of the image stay, with the processors that they are for, behind the host's. */
    @Test
    void imagesOwnEntriesStay() throws IOException {
        LdCache.Entry special =
                new LdCache.Entry("libz.so.1", "/usr/lib/v3/libz.so.1", 0x303, 0, 1L << 62);
        LdCache.Entry stale = new LdCache.Entry("libcuda.so.1", "/opt/\u00ffx/libcuda.so.1", 0x303);
        LdCache image = LdCache.empty().with(List.of(stale, special), _ -> false);
        Files.write(
                root.resolve("etc/ld.so.cache"),
                new LdCache(image.entries(), List.of("x86-64-v3")).bytes());
        put();
        assertEquals(
                List.of("/usr/local/nvidia/lib64/libcuda.so.1", "/opt/\u00ffx/libcuda.so.1"),
                cached("libcuda.so.1"));
        assertTrue(cache().entries().contains(special));
        assertEquals(List.of("x86-64-v3"), cache().processors());
    }

    /** The machine's own ldconfig reads it. */
    @Test
    void glibcReadsTheCache() throws Exception {
        put();
        Process ldconfig =
                new ProcessBuilder(
                                "/sbin/ldconfig",
                                "-p",
                                "-C",
                                root.resolve("etc/ld.so.cache").toString())
                        .redirectErrorStream(true)
                        .start();
        String out = new String(ldconfig.getInputStream().readAllBytes());
        assertTrue(out.contains("libcuda.so.1 (libc6,x86-64) => /usr/local/nvidia/lib64/"), out);
    }

    @Test
    void rootWithoutTheDirectoryOfItsArchitectureHasThemInLib64OrLib() throws IOException {
        Files.delete(root.resolve(libraries));
        put();
        assertEquals(List.of("libcuda.so", "libcuda.so.1"), list(root.resolve("usr/lib64")));
        for (String name : list(root.resolve("usr/lib64"))) {
            Files.delete(root.resolve("usr/lib64").resolve(name));
        }
        Files.delete(root.resolve("usr/lib64"));
        Files.createSymbolicLink(root.resolve("usr/lib64"), Path.of("lib"));
        put();
        assertEquals(List.of("libcuda.so", "libcuda.so.1"), list(root.resolve("usr/lib")));
    }

    @Test
    void ownLinksAndEmptyFilesAreReplacedAndOtherFilesCovered() throws IOException {
        Path cuda = root.resolve(libraries);
        Files.createSymbolicLink(cuda.resolve("libcuda.so.1"), outside.resolve("x"));
        Files.writeString(cuda.resolve("libcuda.so"), "");
        Files.writeString(root.resolve("usr/bin/nvidia-smi"), "#!/bin/sh");
        assertEquals(
                List.of("/usr/bin/nvidia-smi"),
                DriverNames.put(root, NAMES).mounts().stream()
                        .map(mount -> mount.target())
                        .toList());
        assertTrue(Files.isSymbolicLink(cuda.resolve("libcuda.so")));
        assertEquals("#!/bin/sh", Files.readString(root.resolve("usr/bin/nvidia-smi")));
        assertEquals(List.of(), list(outside));
    }

    @ParameterizedTest
    @ValueSource(strings = {"etc", "usr", "usr/bin", "usr/lib", "etc/ld.so.conf.d"})
    void linkOutOfTheRootIsNotFollowed(String place) throws IOException {
        for (String each :
                List.of("bin", "lib64", "lib/" + libraries.substring(8), "ld.so.conf.d")) {
            Files.createDirectories(outside.resolve(each));
        }
        List<Path> before;
        try (Stream<Path> files = Files.walk(outside)) {
            before = files.sorted().toList();
        }
        for (Path target : List.of(outside, root.resolve(place).getParent().relativize(outside))) {
            Path linked = root.resolve(place);
            deleteAll(linked);
            Files.createSymbolicLink(linked, target);
            put();
            try (Stream<Path> files = Files.walk(outside)) {
                assertEquals(before, files.sorted().toList());
            }
            Files.delete(linked);
            Files.createDirectories(linked);
        }
    }

    private static void deleteAll(Path directory) throws IOException {
        List<Path> files;
        try (Stream<Path> walk = Files.walk(directory)) {
            files = walk.sorted((one, other) -> other.compareTo(one)).toList();
        }
        for (Path file : files) {
            Files.delete(file);
        }
    }

    @Test
    void maskOfGraphicsIsInTheRootOrNowhere() throws IOException {
        List<SearchedName> names =
                List.of(new SearchedName(Directory.LIB64, "libnvidia-allocator.so.1", true));
        DriverSearch graphics = new DriverSearch(CompatLibraries.NONE, names, "mask");
        Path link = Files.createSymbolicLink(root.resolve("etc/nvidia"), outside);
        DriverNames.put(root, graphics);
        assertEquals(List.of(), list(outside));
        Files.delete(link);
        assertEquals(Optional.empty(), DriverNames.put(root, graphics).obstacle());
        Path profiles = root.resolve("etc/nvidia/nvidia-application-profiles-rc.d");
        assertEquals("mask", Files.readString(profiles.resolve("10-container.conf")));
        assertEquals(
                Path.of("/usr/local/nvidia/lib64/libnvidia-allocator.so.1"),
                Files.readSymbolicLink(root.resolve(libraries + "/gbm/nvidia-drm_gbm.so")));
    }

    @Test
    void cacheThatIsALinkIsNeitherReadNorWritten() throws IOException {
        Path target = Files.write(outside.resolve("cache"), LdCache.empty().bytes());
        Files.createSymbolicLink(root.resolve("etc/ld.so.cache"), target);
        assertTrue(put().contains("ld.so.cache is unusable"));
        assertArrayEquals(LdCache.empty().bytes(), Files.readAllBytes(target));
    }

    @Test
    void cacheThatIsAPipeBlocksNobody() throws Exception {
        new ProcessBuilder("mkfifo", root.resolve("etc/ld.so.cache").toString()).start().waitFor();
        assertTrue(put().contains("not a regular file"));
    }

    @Test
    void hugeAndDamagedCachesAreLeftAlone() throws IOException {
        Path cache = root.resolve("etc/ld.so.cache");
        try (RandomAccessFile file = new RandomAccessFile(cache.toFile(), "rw")) {
            file.setLength(10L << 30);
        }
        assertTrue(put().contains("longer than 8 MiB"));
        Files.writeString(cache, "glibc-ld.so.cache1.1" + "x".repeat(100));
        assertTrue(put().contains("is unusable"));
        assertEquals(120, Files.size(cache));
    }

    @Test
    void nothingIsWrittenToARootWithoutGlibcOrToTheHosts() throws IOException {
        Files.delete(root.resolve(Machine.ofThisMachine().loader().substring(1)));
        assertEquals("", put());
        Path musl = root.resolve(Machine.ofThisMachine().muslLoader().substring(1));
        Files.createDirectories(musl.getParent());
        Files.writeString(musl, "");
        assertTrue(put().contains("musl"));
        assertEquals(List.of(), list(root.resolve("usr/bin")));
        assertFalse(Files.exists(root.resolve("etc/ld.so.cache")));
        assertEquals(List.of(), DriverNames.put(Path.of("/proc/self/root"), NAMES).mounts());
        assertFalse(Files.exists(Path.of("/etc/ld.so.conf.d/00-jnvdocker.conf")));
    }

    @Test
    @Tag("root")
    void filesBelongToTheRootOfTheContainersUserNamespace() throws IOException {
        int remapped = 100_000;
        for (String each : List.of("etc", "usr/bin", libraries)) {
            Files.setAttribute(root.resolve(each), "unix:uid", remapped);
        }
        put();
        assertEquals(remapped, Files.getAttribute(root.resolve("etc/ld.so.cache"), "unix:uid"));
        assertEquals(
                remapped,
                Files.getAttribute(
                        root.resolve(libraries + "/libcuda.so"),
                        "unix:uid",
                        java.nio.file.LinkOption.NOFOLLOW_LINKS));
    }
}
