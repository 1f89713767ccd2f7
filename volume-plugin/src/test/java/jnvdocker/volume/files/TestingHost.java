package jnvdocker.volume.files;

import jnvdocker.host.Host;
import jnvdocker.labels.DriverVersion;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** A host with a small driver, laid out in a directory. */
public final class TestingHost {
    public static final DriverVersion VERSION = DriverVersion.parse("535.104.05");
    public static final String LIB = "/usr/lib/x86_64-linux-gnu";

    private final Path root;
    private final List<LdCache.Entry> cache = new ArrayList<>();

    private TestingHost(Path root) {
        this.root = root;
    }

    static TestingHost empty(Path root) throws IOException {
        Files.createDirectories(root);
        return new TestingHost(root);
    }

    /** libcuda, libnvidia-ml and nvidia-smi, as NVIDIA's installer lays them out. */
    public static TestingHost withDriver(Path root) throws IOException {
        return empty(root)
                .library(LIB, "libcuda.so.535.104.05", "libcuda.so.1")
                .library(LIB, "libnvidia-ml.so.535.104.05", "libnvidia-ml.so.1")
                .file("/usr/bin/nvidia-smi", TestingElf.library());
    }

    /** Adds a library with its SONAME, as link and in the loader cache. */
    public TestingHost library(String directory, String name, String soname) throws IOException {
        return file(directory + "/" + name, TestingElf.library(soname))
                .link(directory + "/" + soname, name)
                .cached(soname, directory + "/" + soname);
    }

    public TestingHost file(String path, TestingElf elf) throws IOException {
        elf.write(path(path));
        return this;
    }

    TestingHost link(String path, String target) throws IOException {
        Files.createDirectories(path(path).getParent());
        Files.createSymbolicLink(path(path), Path.of(target));
        return this;
    }

    TestingHost cached(String name, String path) throws IOException {
        cache.add(TestingLdCache.entry(name, path));
        return cache(TestingLdCache.bytes(cache));
    }

    TestingHost cache(byte[] bytes) throws IOException {
        Files.createDirectories(path("/etc"));
        Files.write(path("/etc/ld.so.cache"), bytes);
        return this;
    }

    public Path path(String path) {
        return root.resolve(path.substring(1));
    }

    public Host host() throws IOException {
        return Host.at(root);
    }

    public DriverFiles find() throws IOException {
        return DriverFiles.find(host(), VERSION, Machine.X86_64);
    }
}
