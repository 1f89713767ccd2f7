package jnvdocker.docker.engine;

import com.github.dockerjava.api.model.Info;

import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
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

    static EngineRuntimes of(Info info) {
        Map<String, String> paths = new HashMap<>();
        Optional.ofNullable(info.getRuntimes())
                .orElse(Map.of())
                .forEach((name, runtime) ->
                        paths.put(name, Objects.requireNonNullElse(runtime.getPath(), "")));
        Object standard = info.getRawValues().get("DefaultRuntime");
        return new EngineRuntimes(Objects.requireNonNullElse(standard, "").toString(), paths);
    }

    /** Whether a container that names no runtime gets NVIDIA's, which gives it GPUs. */
    public boolean isNvidiaStandard() {
        Path program = Path.of(paths.getOrDefault(standard, "")).getFileName();
        return standard.equals("nvidia")
                || program != null && program.toString().startsWith("nvidia-container-runtime");
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
