package jnvdocker.oci.install;

import jnvdocker.words.RefusedException;

import org.tomlj.TomlParseResult;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Optional;

/**
 * Our own configuration, in which images are said to get no GPUs unasked where our runtime is an
 * engine's default: the engine's builds have it, too, and would take all GPUs for each line of a
 * Dockerfile.
 */
public final class OwnConfig {
    private static final String TABLE = "runtime";
    private static final String KEY = "image_need";
    private static final String LINE = KEY + " = \"none\"\n";

    private final Path file;

    public OwnConfig(Path file) {
        this.file = file;
    }

    /** Its {@code image_need}; empty when it has none. */
    public Optional<String> imageNeed() throws IOException, RefusedException {
        return Optional.ofNullable(parse(SettingsFile.read(file)).getString(TABLE + "." + KEY));
    }

    /**
     * Has it say that they get none. All else stays as it is.
     *
     * @throws RefusedException when there is no place for that
     */
    public void giveImagesNone() throws IOException, RefusedException {
        String before = SettingsFile.read(file);
        SettingsFile.write(file, before, withImagesNone(before));
    }

    /** The same text that says so, too. */
    String withImagesNone(String before) throws RefusedException {
        String after = insert(before);
        if (!"none".equals(parse(after).getString(TABLE + "." + KEY))) {
            throw new RefusedException(
                    "the table [" + TABLE + "] in " + file + " is written in an unusual way",
                    "write " + LINE.strip() + " into it by hand");
        }
        return after;
    }

    private String insert(String text) throws RefusedException {
        TomlParseResult toml = parse(text);
        if (toml.inputPositionOf(TABLE) == null || !toml.isTable(TABLE)) {
            String whole = text.isEmpty() || text.endsWith("\n") ? text : text + "\n";
            return whole + (whole.isEmpty() ? "" : "\n") + "[" + TABLE + "]\n" + LINE;
        }
        int line = toml.inputPositionOf(TABLE).line();
        int end = 0;
        for (int i = 0; i < line; i++) {
            end = text.indexOf('\n', end) + 1;
            if (end == 0) {
                return text + "\n" + LINE;
            }
        }
        return text.substring(0, end) + LINE + text.substring(end);
    }

    private TomlParseResult parse(String text) throws RefusedException {
        return TomlText.parse(text, file, " cannot be read: ");
    }
}
