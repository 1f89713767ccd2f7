package jnvdocker.volume.plugin;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * What answers in the place of a plugin that is gone for good. dockerd forgets no plugin that it
 * has met: until it is restarted, each of its volume commands and each container with a new volume
 * waits 15 seconds for one whose socket is away. A link to dockerd's own socket spares it that,
 * since that answers at once that it has no such page; and a dockerd that starts takes no link for
 * a plugin.
 *
 * @param plugin the socket's name
 * @param engine dockerd's socket
 */
public record PluginStandIn(Path plugin, Path engine) {

    /** Takes the plugin's place, once that has given up its socket. */
    public void leave() throws IOException {
        remove();
        Files.createSymbolicLink(plugin, engine);
    }

    /** Gives the place back, if it has it. */
    public void remove() throws IOException {
        if (Files.isSymbolicLink(plugin) && Files.readSymbolicLink(plugin).equals(engine)) {
            Files.deleteIfExists(plugin);
        }
    }
}
