package jnvdocker.daemon;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.config.StartException;
import jnvdocker.web.ListenAddress;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;

class DirectoriesTest {
    @Test
    void withoutVariablesTheyAreTheUsualOnes() throws StartException {
        Directories expected =
                new Directories(
                        Path.of("/run/jnvdocker"),
                        Path.of("/run/jnvdocker/jnvdocker.sock"),
                        Path.of("/var/lib/jnvdocker"),
                        Path.of("/var/cache/jnvdocker"),
                        Path.of("/etc/jnvdocker/config.toml"),
                        false,
                        Path.of("/run/docker/plugins"),
                        "nvidia-docker",
                        Path.of("/"),
                        Path.of("/var/run/docker.sock"),
                        Path.of("/run/jnvdocker/docker.sock"),
                        Path.of("/var/run/cdi"),
                        Optional.empty());
        assertEquals(expected, Directories.of(Map.of()));
        assertEquals(Path.of("/run/docker/plugins/nvidia-docker.sock"), expected.pluginSocket());
    }

    @Test
    void everyOneHasItsVariable() throws StartException {
        Directories directories =
                Directories.of(
                        Map.ofEntries(
                                Map.entry("JNVDOCKER_RUN_DIR", "/a"),
                                Map.entry("JNVDOCKER_SOCKET", "/b/s"),
                                Map.entry("JNVDOCKER_STATE_DIR", "/c"),
                                Map.entry("JNVDOCKER_CACHE_DIR", "/i"),
                                Map.entry("JNVDOCKER_CONFIG", "/d.toml"),
                                Map.entry("JNVDOCKER_PLUGIN_DIR", "/e"),
                                Map.entry("JNVDOCKER_PLUGIN_NAME", "f-1_2"),
                                Map.entry("JNVDOCKER_HOST_ROOT", "/g"),
                                Map.entry("JNVDOCKER_DOCKER_SOCKET", "/h"),
                                Map.entry("JNVDOCKER_PROXY_SOCKET", "/k"),
                                Map.entry("JNVDOCKER_LISTEN", "[::1]:9400"),
                                Map.entry("JNVDOCKER_CDI_DIR", "/j")));
        assertEquals(
                new Directories(
                        Path.of("/a"),
                        Path.of("/b/s"),
                        Path.of("/c"),
                        Path.of("/i"),
                        Path.of("/d.toml"),
                        true,
                        Path.of("/e"),
                        "f-1_2",
                        Path.of("/g"),
                        Path.of("/h"),
                        Path.of("/k"),
                        Path.of("/j"),
                        Optional.of(ListenAddress.parse("[::1]:9400"))),
                directories);
        assertEquals(Path.of("/e/f-1_2.sock"), directories.pluginSocket());
    }

    @Test
    void socketIsInTheRunDirectory() throws StartException {
        Directories directories = Directories.of(Map.of("JNVDOCKER_RUN_DIR", "/tmp/x"));
        assertEquals(Path.of("/tmp/x/jnvdocker.sock"), directories.socket());
    }

    @Test
    void otherHostsAreNotListenedTo() {
        var refused =
                assertThrows(
                        StartException.class,
                        () -> Directories.of(Map.of("JNVDOCKER_LISTEN", "10.0.0.1:80")));
        assertTrue(
                refused.getMessage()
                        .startsWith("JNVDOCKER_LISTEN = '10.0.0.1:80' can be reached from other"));
    }

    @Test
    void emptyVariableIsNone() throws StartException {
        Directories directories =
                Directories.of(
                        Map.of(
                                "JNVDOCKER_RUN_DIR", "",
                                "JNVDOCKER_CONFIG", "",
                                "JNVDOCKER_PLUGIN_NAME", ""));
        assertEquals(Directories.of(Map.of()), directories);
        assertFalse(directories.configNamed());
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "JNVDOCKER_RUN_DIR",
                "JNVDOCKER_SOCKET",
                "JNVDOCKER_STATE_DIR",
                "JNVDOCKER_CACHE_DIR",
                "JNVDOCKER_CONFIG",
                "JNVDOCKER_PLUGIN_DIR",
                "JNVDOCKER_HOST_ROOT",
                "JNVDOCKER_DOCKER_SOCKET",
                "JNVDOCKER_PROXY_SOCKET",
            })
    void relativePathIsRefused(String variable) {
        var error =
                assertThrows(
                        StartException.class,
                        () -> Directories.of(Map.of(variable, "run/jnvdocker")));
        assertEquals(
                variable + "=run/jnvdocker is not an absolute path; begin it with /",
                error.getMessage());
    }

    @ParameterizedTest
    @ValueSource(strings = {"-a", "_a", "a/b", "../a", "a.b", "a b", "a\n", "ä", ".", " "})
    void nameThatIsNoneIsRefused(String name) {
        var error =
                assertThrows(
                        StartException.class,
                        () -> Directories.of(Map.of("JNVDOCKER_PLUGIN_NAME", name)));
        assertTrue(error.getMessage().startsWith("JNVDOCKER_PLUGIN_NAME=" + name), name);
    }

    @Test
    void nameHas63LettersAtMost() throws StartException {
        String longest = "n".repeat(63);
        assertEquals(
                longest, Directories.of(Map.of("JNVDOCKER_PLUGIN_NAME", longest)).pluginName());
        assertThrows(
                StartException.class,
                () -> Directories.of(Map.of("JNVDOCKER_PLUGIN_NAME", longest + "n")));
    }
}
