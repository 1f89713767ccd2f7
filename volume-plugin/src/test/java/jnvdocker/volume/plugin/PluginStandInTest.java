package jnvdocker.volume.plugin;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;

class PluginStandInTest {
    @TempDir private Path folder;
    private Path plugin;
    private Path engine;
    private PluginStandIn standIn;

    @BeforeEach
    void name() {
        plugin = folder.resolve("nvidia-docker.sock");
        engine = folder.resolve("docker.sock");
        standIn = new PluginStandIn(plugin, engine);
    }

    @Test
    void engineAnswersInThePluginsPlace() throws IOException {
        standIn.leave();
        standIn.leave();
        assertEquals(engine, Files.readSymbolicLink(plugin));
        standIn.remove();
        standIn.remove();
        assertFalse(Files.exists(plugin, LinkOption.NOFOLLOW_LINKS));
    }

    @Test
    void whatAnotherHasPutThereStays() throws IOException {
        Files.createFile(plugin);
        standIn.remove();
        assertThrows(FileAlreadyExistsException.class, standIn::leave);
        assertTrue(Files.isRegularFile(plugin));
        Files.delete(plugin);
        Files.createSymbolicLink(plugin, folder.resolve("other.sock"));
        standIn.remove();
        assertTrue(Files.isSymbolicLink(plugin));
    }
}
