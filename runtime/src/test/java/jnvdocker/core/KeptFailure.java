package jnvdocker.core;

import jnvdocker.volume.DirectoryTree;

import net.jqwik.api.lifecycle.PerProperty;
import net.jqwik.api.lifecycle.PropertyExecutionResult;
import net.jqwik.api.lifecycle.PropertyLifecycleContext;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * Keeps the last failure of a test of random sequences, with which it can be examined and made
 * again: the seed, the steps with their results, and the state directory.
 */
class KeptFailure implements PerProperty.Lifecycle {
    private static final Path ALL = Path.of("target", "failures");

    private Path directory = ALL;

    /**
     * A sequence has failed.
     *
     * @param state the state directory, while the registry is still open
     */
    static void keep(Class<?> test, Path state, String steps) {
        Path directory = directory(test);
        try {
            DirectoryTree.delete(directory);
            Files.createDirectories(directory);
            Files.writeString(directory.resolve("steps"), steps);
            copy(state, directory.resolve("state"));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    static Path directory(Class<?> test) {
        return ALL.resolve(test.getSimpleName());
    }

    private static void copy(Path from, Path to) throws IOException {
        try (var files = Files.walk(from)) {
            for (Path file : files.toList()) {
                Files.copy(file, to.resolve(from.relativize(file)));
            }
        }
    }

    @Override
    public void before(PropertyLifecycleContext context) {
        directory = directory(context.containerClass());
    }

    /** The sequence has been made smaller by now, and kept again each time. */
    @Override
    public PropertyExecutionResult onFailure(PropertyExecutionResult result) {
        try {
            Files.createDirectories(directory);
            Files.writeString(
                    directory.resolve("seed"),
                    result.seed().orElse("?")
                            + ", try "
                            + result.countChecks()
                            + "\n"
                            + result.falsifiedParameters().orElse(List.of())
                            + "\n");
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return result;
    }
}
