package jnvdocker.tests.world;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** The C programs of {@code tests/worlds}, static and each compiled once for all tests. */
public final class CProgram {
    private CProgram() {}

    /** Puts the program of that source, such as {@code holdopen}, at a path of the caller's. */
    public static void put(String name, Path path) {
        Path directory = Project.build("programs");
        try {
            Files.createDirectories(directory);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        // Locked: another test JVM may need it, too.
        Command.of(
                        "flock",
                        directory + ".lock",
                        "make",
                        "-s",
                        "-C",
                        directory,
                        "VPATH=" + Project.world(""),
                        "CC=gcc",
                        "CFLAGS=-std=gnu11 -O2 -static",
                        name)
                .run()
                .ok();
        Command.of("cp", directory.resolve(name), path).run().ok();
    }
}
