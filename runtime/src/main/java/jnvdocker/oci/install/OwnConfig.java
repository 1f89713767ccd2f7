package jnvdocker.oci.install;

import jnvdocker.posix.WholeFile;
import jnvdocker.program.TrustedDirectory;
import jnvdocker.words.FailedException;
import jnvdocker.words.RefusedException;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * Our own configuration: a file, and those in the directory beside it. One of them is the
 * installer's. It says that images get no GPUs unasked where our runtime is an engine's default:
 * the engine's builds have it, too, and would take all GPUs for each line of a Dockerfile.
 */
public final class OwnConfig {
    private static final String SUFFIX = ".toml";
    private static final String NAME = "runtime" + SUFFIX;
    private static final String KEY = "runtime.image_need";
    private static final int MODE = 0644;

    static final String TEXT =
            """
            # Written by 'jnvdocker runtime install', removed by 'jnvdocker runtime uninstall'.
            # The default runtime also runs the steps of 'docker build': no image gets GPUs unasked.
            [runtime]
            image_need = "none"
            """;

    private final Path file;

    /**
     * @param file such as {@code /etc/jnvdocker/config.toml}
     */
    public OwnConfig(Path file) {
        this.file = file;
    }

    /**
     * Returns the files of the configuration, whether they exist or not: the main one, then those
     * of {@code config.d} in the order of their names. A later one overrides an earlier one.
     */
    public List<Path> files() throws IOException {
        List<Path> files = new ArrayList<>(List.of(file));
        Path directory = directory();
        if (Files.exists(directory, LinkOption.NOFOLLOW_LINKS)) {
            if (!Files.isDirectory(directory)) {
                throw new FailedException(directory + " is not a directory", "move it away");
            }
            try (var entries = Files.newDirectoryStream(directory, "[!.]*" + SUFFIX)) {
                entries.forEach(files::add);
            }
            files.subList(1, files.size()).sort(null);
        }
        return files;
    }

    /** Returns the directory of the other files: {@code config.d} for {@code config.toml}. */
    public Path directory() {
        String name = file.getFileName().toString();
        return file.resolveSibling(name.replaceFirst("\\.toml$", "") + ".d");
    }

    /** Returns the file that {@link #giveImagesNone} writes. */
    public Path own() {
        return directory().resolve(NAME);
    }

    /** Its {@code image_need}; empty when it has none. */
    public Optional<String> imageNeed() throws IOException, RefusedException {
        Optional<String> need = Optional.empty();
        for (Path each : files()) {
            String its =
                    TomlText.parse(SettingsFile.read(each), each, " cannot be read: ")
                            .getString(KEY);
            need = its == null ? need : Optional.of(its);
        }
        return need;
    }

    /** Has it say that they get none, in a file of its own. */
    public void giveImagesNone() throws IOException, RefusedException {
        TrustedDirectory.check(directory());
        Files.createDirectories(directory());
        WholeFile.write(own(), TEXT.getBytes(StandardCharsets.UTF_8), WholeFile.Access.root(MODE));
    }

    /**
     * Takes that back, unless the file was changed since.
     *
     * @return whether the file is gone now
     */
    public boolean removeOwn() throws IOException, RefusedException {
        if (!SettingsFile.read(own()).equals(TEXT)) {
            return false;
        }
        WholeFile.delete(own());
        return true;
    }
}
