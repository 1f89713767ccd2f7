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

class RuntimeFolderTest {
    private static final String RUNTIME = "/var/run/mesos/containers/";

    @TempDir Path agent;

    @Test
    void lastNameIsTheId() throws RefusedException {
        RuntimeFolder folder = RuntimeFolder.of(RUNTIME + "c53828fb-f7df");
        assertEquals("c53828fb-f7df", folder.id());
        assertFalse(folder.isNested());
        assertEquals(Optional.empty(), folder.parent());
    }

    @Test
    void nestedContainerHasThePathOfIds() throws RefusedException {
        RuntimeFolder folder = RuntimeFolder.of(RUNTIME + "a/containers/b/containers/check-c");
        assertEquals("a.b.check-c", folder.id());
        assertEquals("a.b", folder.parent().orElseThrow().id());
        assertEquals("a", folder.parent().flatMap(RuntimeFolder::parent).orElseThrow().id());
    }

    /** An agent's runtime directory may lie in a directory of such a name. */
    @Test
    void runtimeDirectoryMayBeCalledContainers() throws RefusedException {
        assertEquals("a", RuntimeFolder.of("/srv/containers.d/containers/a").id());
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
    void pathThatIsNoContainersFolderIsRefused(String path) {
        assertThrows(RefusedException.class, () -> RuntimeFolder.of(path));
    }

    @Test
    void deepOneIsRefused() {
        String deep = "/containers/a".repeat(17);
        assertThrows(RefusedException.class, () -> RuntimeFolder.of("/var" + deep));
    }

    @Test
    void agentThatWritesNothingDownIsTooOld() throws Exception {
        RuntimeFolder folder = folder();
        var error = assertThrows(IOException.class, folder::config);
        assertTrue(
                error.getMessage()
                        .endsWith(
                                " does not exist; install Mesos 1.5 or newer, whose agent writes"
                                        + " it"),
                error::getMessage);
    }

    @Test
    void truncatedFileIsNoConfig() throws Exception {
        RuntimeFolder folder = folder();
        byte[] whole = TestingConfig.of().text(4, "alice").resource("gpus", 1).file();
        for (int length = 0; length < whole.length; length++) {
            Files.write(folder.path().resolve("config"), Arrays.copyOf(whole, length));
            var error = assertThrows(IOException.class, folder::config);
            assertTrue(
                    error.getMessage().contains(folder.path() + "/config: it "), error::getMessage);
        }
        Files.write(folder.path().resolve("config"), whole);
        assertEquals("alice", folder.config().user());
    }

    @Test
    void hugeOneIsRefused() throws Exception {
        RuntimeFolder folder = folder();
        Files.write(folder.path().resolve("config"), new byte[(4 << 20) + 1]);
        assertTrue(
                assertThrows(IOException.class, folder::config)
                        .getMessage()
                        .contains("it has more than 4194304 bytes"));
    }

    @Test
    void pidIsThereWhenTheAgentHasWrittenIt() throws Exception {
        RuntimeFolder folder = folder();
        assertEquals(Optional.empty(), folder.pid());
        Files.writeString(folder.path().resolve("pid"), "");
        assertEquals(Optional.empty(), folder.pid());
        Files.writeString(folder.path().resolve("pid"), "4711");
        assertEquals(Optional.of(4711), folder.pid());
    }

    private RuntimeFolder folder() throws IOException, RefusedException {
        Path path = agent.resolve("containers/a");
        Files.createDirectories(path);
        return RuntimeFolder.of(path.toString());
    }
}
