package jnvdocker.mesos.launch;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.words.RefusedException;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Optional;

class RuntimeDirectoryTest {
    private static final String RUNTIME = "/var/run/mesos/containers/";

    @TempDir Path agent;

    @Test
    void lastNameIsTheId() throws RefusedException {
        RuntimeDirectory directory = RuntimeDirectory.of(RUNTIME + "c53828fb-f7df");
        assertEquals("c53828fb-f7df", directory.id());
        assertFalse(directory.isNested());
        assertEquals(Optional.empty(), directory.parent());
    }

    @Test
    void nestedContainerHasThePathOfIds() throws RefusedException {
        RuntimeDirectory directory =
                RuntimeDirectory.of(RUNTIME + "a/containers/b/containers/check-c");
        assertEquals("a.b.check-c", directory.id());
        assertEquals("a.b", directory.parent().orElseThrow().id());
        assertEquals("a", directory.parent().flatMap(RuntimeDirectory::parent).orElseThrow().id());
    }

    /** An agent's runtime directory may lie in a directory of such a name. */
    @Test
    void runtimeDirectoryMayBeCalledContainers() throws RefusedException {
        assertEquals("a", RuntimeDirectory.of("/srv/containers.d/containers/a").id());
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "a",
                "containers/a",
                "/containers",
                "/var/run/mesos/a",
                RUNTIME,
                RUNTIME + "a.b",
                RUNTIME + "..",
                RUNTIME + "a/../b",
                RUNTIME + "a/containers/../containers/b",
                RUNTIME + "a\u0000b",
                RUNTIME + "a b",
            })
    void pathThatIsNoContainersDirectoryIsRefused(String path) {
        assertThrows(RefusedException.class, () -> RuntimeDirectory.of(path));
    }

    @Test
    void deepOneIsRefused() {
        String deep = "/containers/a".repeat(17);
        assertThrows(RefusedException.class, () -> RuntimeDirectory.of("/var" + deep));
    }

    @Test
    void agentThatWritesNothingDownIsTooOld() throws Exception {
        RuntimeDirectory directory = directory();
        var error = assertThrows(IOException.class, directory::config);
        assertTrue(
                error.getMessage()
                        .endsWith(
                                " does not exist; install Mesos 1.5 or newer, whose agent writes"
                                        + " it"),
                error::getMessage);
    }

    @Test
    void truncatedFileIsNoConfig() throws Exception {
        RuntimeDirectory directory = directory();
        byte[] whole = TestingConfig.of().text(4, "alice").resource("gpus", 1).file();
        for (int length = 0; length < whole.length; length++) {
            Files.write(directory.path().resolve("config"), Arrays.copyOf(whole, length));
            var error = assertThrows(IOException.class, directory::config);
            assertTrue(
                    error.getMessage().contains(directory.path() + "/config: it "),
                    error::getMessage);
        }
        Files.write(directory.path().resolve("config"), whole);
        assertEquals("alice", directory.config().user());
    }

    @Test
    void hugeOneIsRefused() throws Exception {
        RuntimeDirectory directory = directory();
        Files.write(directory.path().resolve("config"), new byte[(4 << 20) + 1]);
        assertTrue(
                assertThrows(IOException.class, directory::config)
                        .getMessage()
                        .contains("it has more than 4194304 bytes"));
    }

    @Test
    void pidIsThereWhenTheAgentHasWrittenIt() throws Exception {
        RuntimeDirectory directory = directory();
        assertEquals(Optional.empty(), directory.pid());
        Files.writeString(directory.path().resolve("pid"), "");
        assertEquals(Optional.empty(), directory.pid());
        Files.writeString(directory.path().resolve("pid"), "4711");
        assertEquals(Optional.of(4711), directory.pid());
    }

    private RuntimeDirectory directory() throws IOException, RefusedException {
        Path path = agent.resolve("containers/a");
        Files.createDirectories(path);
        return RuntimeDirectory.of(path.toString());
    }
}
