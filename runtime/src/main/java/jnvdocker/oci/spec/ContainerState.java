package jnvdocker.oci.spec;

import com.fasterxml.jackson.databind.node.ObjectNode;

import jnvdocker.words.RefusedException;

import java.nio.file.InvalidPathException;
import java.nio.file.Path;

/**
 * A container's state, as a runtime passes it to hooks.
 *
 * @param pid of its first process
 * @param bundle the directory with its {@code config.json}; absolute
 */
public record ContainerState(String id, int pid, Path bundle) {
    /**
     * @throws RefusedException when it is no such state
     */
    public static ContainerState parse(String json) throws RefusedException {
        ObjectNode root = SpecJson.object(json, "state", (parent, _) -> parent == null);
        String bundle = root.path("bundle").asText("");
        int pid = root.path("pid").asInt(0);
        try {
            if (bundle.startsWith("/") && pid > 0) {
                return new ContainerState(root.path("id").asText(""), pid, Path.of(bundle));
            }
        } catch (InvalidPathException e) {
            // Refused as any other that is none.
        }
        throw new RefusedException(
                "the runtime's state of this container names no bundle or process",
                "use another runtime: hooks of devices need both");
    }
}
