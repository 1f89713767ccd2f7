package jnvdocker.tests.world;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.util.stream.Stream;

/** Paths in the checkout. */
public final class Project {
    /** In names that tests of several machines share: pids are the same in each PID namespace. */
    public static final String RUN = "%012x".formatted(new SecureRandom().nextLong(1L << 48));

    private static final Path ROOT = Path.of("").toAbsolutePath().getParent();

    private Project() {}

    public static Path root() {
        return ROOT;
    }

    /** A script of {@code tests/worlds}. */
    public static Path world(String script) {
        return ROOT.resolve("tests/worlds").resolve(script);
    }

    /** A file of {@code tests/fixtures}. */
    public static Path fixture(String name) {
        return ROOT.resolve("tests/fixtures").resolve(name);
    }

    /** The source directory of a module. */
    public static Path source(String module) {
        return ROOT.resolve(module);
    }

    /** A directory for files that the tests build. */
    public static Path build(String name) {
        return ROOT.resolve("tests/target").resolve(name);
    }

    /** The runnable tree of the build. */
    public static Path tree() {
        return ROOT.resolve("src/target/jnvdocker");
    }

    /** The package that the build made, by the end of its name. */
    public static Path built(String suffix) {
        return built(ROOT, suffix);
    }

    /** The package that a build in another directory made. */
    public static Path built(Path root, String suffix) {
        try (Stream<Path> files = Files.list(root.resolve("src/target"))) {
            return files.filter(file -> file.toString().endsWith(suffix))
                    .findFirst()
                    .orElseThrow(() -> new AssertionError("the build made no *" + suffix));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
