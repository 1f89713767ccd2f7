package jnvdocker.tests.world;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;

/**
 * What drives a headless Chromium: the scripts of {@code tests/page}, with npm's packages for them.
 */
public final class Browser {
    public static final Path SOURCES = Project.root().resolve("tests/page");

    private static final List<String> FILES =
            List.of("package.json", "package-lock.json", "browser.mjs", "check.mjs", "manual.mjs");

    private Browser() {}

    /** Installs what the lock file names, if that is not there, and returns the directory. */
    public static Path tools() throws IOException {
        Path directory = Project.build("page");
        Files.createDirectories(directory);
        // Several classes may run at a time, each in a process of its own.
        try (FileChannel lock =
                FileChannel.open(
                        directory.resolve("lock"),
                        StandardOpenOption.CREATE,
                        StandardOpenOption.WRITE)) {
            lock.lock();
            boolean old = !Files.exists(directory.resolve("node_modules/.package-lock.json"));
            for (String name : FILES) {
                String text = Files.readString(SOURCES.resolve(name));
                Path copy = directory.resolve(name);
                boolean same = Files.exists(copy) && Files.readString(copy).equals(text);
                old |= !same && name.endsWith(".json");
                if (!same) {
                    Files.writeString(copy, text);
                }
            }
            if (old) {
                Command.of("npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts")
                        .in(directory)
                        .run()
                        .ok();
            }
        }
        return directory;
    }
}
