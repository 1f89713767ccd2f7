package jnvdocker.docker;

import java.nio.file.Path;
import java.util.Map;
import java.util.Set;

/**
 * The container runtimes that an engine knows.
 *
 * @param standard the name of the one it takes when a container names none
 * @param paths name to program; the program of a shim is unknown and empty
 */
public record EngineRuntimes(String standard, Map<String, String> paths) {
    private static final Set<String> PLAIN = Set.of("runc", "crun");

    public EngineRuntimes {
        paths = Map.copyOf(paths);
    }

    /**
     * Whether a runtime is runc or crun, which add no GPUs of their own accord.
     *
     * @param name as given with {@code --runtime}; empty is the engine's own choice
     */
    public boolean isPlain(String name) {
        String chosen = name.isEmpty() ? standard : name;
        if (chosen.equals("io.containerd.runc.v2")) {
            return true;
        }
        Path program = Path.of(paths.getOrDefault(chosen, "")).getFileName();
        return program != null && PLAIN.contains(program.toString());
    }
}
