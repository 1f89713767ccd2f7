package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import jnvdocker.host.DeviceNodes;
import jnvdocker.host.Gpu;
import jnvdocker.host.GpuInventory;
import jnvdocker.host.Host;
import jnvdocker.host.HostDriver;
import jnvdocker.posix.FileErrors;
import jnvdocker.tests.world.Project;
import jnvdocker.volume.files.DriverFiles;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Each host of {@code fixtures/hosts} gives the driver, GPUs and nodes, or the message, that its
 * files {@code seen} and {@code nodes} expect. Its README.md names the source of its text.
 */
class HostFixturesTest {
    @TempDir Path directory;

    static List<String> hosts() throws IOException {
        try (Stream<Path> hosts = Files.list(Project.fixture("hosts"))) {
            return hosts.map(host -> host.getFileName().toString()).sorted().toList();
        }
    }

    @ParameterizedTest
    @MethodSource("hosts")
    void hostSaysWhereItComesFrom(String name) throws IOException {
        Path readme = Project.fixture("hosts").resolve(name).resolve("README.md");
        assertFalse(Files.readString(readme).isBlank(), name);
    }

    @ParameterizedTest
    @MethodSource("hosts")
    void driverAndGpusAreSeen(String name) throws IOException {
        Host host = copy(name);
        assertSays(name, "seen", host, driver(host) + gpus(host) + files(host));
    }

    @ParameterizedTest
    @MethodSource("hosts")
    @Tag("root")
    void nodesAreThereOrMade(String name) throws IOException {
        Host host = copy(name);
        assertSays(name, "nodes", host, said(() -> nodes(host)));
    }

    private static String driver(Host host) {
        return said(() -> "driver " + HostDriver.readVersion(host) + "\n");
    }

    private static String gpus(Host host) {
        return said(() ->
                new GpuInventory(host, new DeviceNodes(host))
                        .read().gpus().stream()
                                .map(HostFixturesTest::line)
                                .collect(Collectors.joining()));
    }

    private static String line(Gpu gpu) {
        if (!gpu.isSound()) {
            return "GPU %d %s: %s\n"
                    .formatted(gpu.index(), gpu.pciAddress(), gpu.trouble().orElseThrow().what());
        }
        return "GPU %d %s %s minor %d, %s\n"
                .formatted(gpu.index(), gpu.uuid(), gpu.pciAddress(), gpu.minor(), gpu.model());
    }

    private static String files(Host host) {
        if (!Files.exists(host.root().resolve("usr"))) {
            return ""; // this host tests other properties
        }
        return said(() ->
                DriverFiles.find(host, HostDriver.readVersion(host)).files().size() + " files\n");
    }

    private static String nodes(Host host) throws IOException {
        StringBuilder lines = new StringBuilder();
        for (var node : new DeviceNodes(host).all()) {
            var facts = Files.readAttributes(node.hostPath(), "unix:mode,uid,gid,rdev");
            long device = (long) facts.get("rdev");
            lines.append(
                    "%s %d:%d mode %o owner %s:%s%n"
                            .formatted(
                                    node.name(),
                                    device >> 8,
                                    device & 0xff,
                                    (int) facts.get("mode") & 0777,
                                    facts.get("uid"),
                                    facts.get("gid")));
        }
        return lines.toString();
    }

    private interface Query {
        String at() throws IOException;
    }

    /** Returns the result, or the message of the failure. */
    private static String said(Query query) {
        try {
            return query.at();
        } catch (IOException e) {
            return FileErrors.describe(e) + "\n";
        }
    }

    private static void assertSays(String name, String file, Host host, String actual)
            throws IOException {
        Path expected = Project.fixture("hosts").resolve(name).resolve(file);
        assertEquals(
                Files.readString(expected), actual.replace(host.root().toString(), "HOST"), name);
    }

    /**
     * Copies a host, so that nodes are made in the copy. Git keeps no empty directory, so dev is
     * made.
     */
    private Host copy(String name) throws IOException {
        Path from = Project.fixture("hosts").resolve(name).resolve("root");
        try (Stream<Path> files = Files.walk(from)) {
            for (Path file : files.filter(Files::isRegularFile).toList()) {
                Path to = directory.resolve(from.relativize(file).toString());
                Files.createDirectories(to.getParent());
                Files.copy(file, to);
            }
        }
        Files.createDirectories(directory.resolve("dev"));
        return Host.at(directory);
    }
}
