package jnvdocker.daemon;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertThrows;

import jnvdocker.config.StartException;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;

class HostNamespacesTest {
    private static final String HOST = "4026531836";

    @TempDir Path proc;

    private void links(String pids, String mounts, String first) throws IOException {
        links(pids, mounts);
        Path init = Files.createDirectories(proc.resolve("1/ns"));
        Files.createSymbolicLink(init.resolve("mnt"), Path.of("mnt:[" + first + "]"));
    }

    private void links(String pids, String mounts) throws IOException {
        Path own = Files.createDirectories(proc.resolve("self/ns"));
        Files.deleteIfExists(own.resolve("pid"));
        Files.deleteIfExists(own.resolve("mnt"));
        Files.createSymbolicLink(own.resolve("pid"), Path.of("pid:[" + pids + "]"));
        Files.createSymbolicLink(own.resolve("mnt"), Path.of("mnt:[" + mounts + "]"));
    }

    @Test
    void rootOfTheHostMayStartADaemon() throws IOException {
        links(HOST, "4026531841", "4026531841");
        assertDoesNotThrow(() -> HostNamespaces.check(proc, Map.of()));
    }

    /** As in a virtual machine whose first process has capabilities that root's shell lacks. */
    @Test
    void firstMountNamespaceIsTheHosts() throws IOException {
        links(HOST, "4026531832", "4026531832");
        Files.delete(proc.resolve("1/ns/mnt"));
        assertDoesNotThrow(() -> HostNamespaces.check(proc, Map.of()));
        links("4026532221", "4026531832");
        assertThrows(StartException.class, () -> HostNamespaces.check(proc, Map.of()));
    }

    /** The container's first process may be the daemon, so that its mounts are the first's. */
    @ParameterizedTest
    @CsvSource({"4026532221,4026532219,4026532219", HOST + ",4026532219,4026531841"})
    void containersMayNot(String pids, String mounts, String first) throws IOException {
        links(pids, mounts, first);
        assertThrows(StartException.class, () -> HostNamespaces.check(proc, Map.of()));
        String variable = HostNamespaces.VARIABLE;
        assertThrows(
                StartException.class, () -> HostNamespaces.check(proc, Map.of(variable, "host")));
        assertDoesNotThrow(() -> HostNamespaces.check(proc, Map.of(variable, "own")));
    }

    @Test
    void whatCannotBeSeenIsNoHost() {
        assertThrows(StartException.class, () -> HostNamespaces.check(proc, Map.of()));
    }
}
