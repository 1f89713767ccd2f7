package jnvdocker.core;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The state directory of a simulated world, and the part of it that a loss of power would leave.
 */
final class SimulatedDisk {
    private final Path state;
    private final Map<String, byte[]> onDisk = new HashMap<>();

    /** A copy that an administrator has put aside. */
    private final Map<String, byte[]> backup = new HashMap<>();

    SimulatedDisk(Path state) {
        this.state = state;
    }

    /** Makes the current state the one that a loss of power will leave. */
    void reach() throws IOException {
        onDisk.clear();
        for (Path part : registryFiles()) {
            onDisk.put(part.getFileName().toString(), Files.readAllBytes(part));
        }
    }

    /** Copies the registry. */
    void backUp() throws IOException {
        backup.clear();
        for (Path part : registryFiles()) {
            backup.put(part.getFileName().toString(), Files.readAllBytes(part));
        }
    }

    boolean hasBackup() {
        return !backup.isEmpty();
    }

    /** Puts the copy in the registry's place. */
    void restoreBackup() throws IOException {
        for (Path part : registryFiles()) {
            Files.delete(part);
        }
        for (var part : backup.entrySet()) {
            Files.write(state.resolve(part.getKey()), part.getValue());
        }
    }

    /** The host restarts. */
    void restart(boolean powerLoss) throws IOException {
        if (powerLoss && !onDisk.isEmpty()) {
            for (Path part : registryFiles()) {
                Files.delete(part);
            }
            for (var part : onDisk.entrySet()) {
                Files.write(state.resolve(part.getKey()), part.getValue());
            }
        }
        onDisk.clear();
    }

    /** Removes the registry, or makes its file hold something else. */
    void loseRegistry(boolean damage) throws IOException {
        for (Path part : registryFiles()) {
            if (damage && part.endsWith("registry.db")) {
                Files.writeString(part, "this was a registry\n".repeat(500));
            } else {
                Files.delete(part);
            }
        }
    }

    void clear() throws IOException {
        List<Path> inside;
        try (var walk = Files.walk(state)) {
            inside =
                    walk.filter(path -> !path.equals(state))
                            .sorted(Comparator.reverseOrder())
                            .toList();
        }
        for (Path path : inside) {
            Files.delete(path);
        }
    }

    private List<Path> registryFiles() throws IOException {
        try (var files = Files.list(state)) {
            return files.filter(file -> file.getFileName().toString().startsWith("registry.db"))
                    .filter(file -> !file.toString().contains("damaged"))
                    .toList();
        }
    }
}
