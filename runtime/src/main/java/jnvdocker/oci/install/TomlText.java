package jnvdocker.oci.install;

import jnvdocker.words.Quote;
import jnvdocker.words.RefusedException;

import org.tomlj.Toml;
import org.tomlj.TomlParseError;
import org.tomlj.TomlParseResult;

import java.nio.file.Path;

/** A configuration in TOML that is to be changed, and so must be understood first. */
final class TomlText {
    private TomlText() {}

    /**
     * @param otherwise the words for a file with errors, between its line and the first of them
     */
    static TomlParseResult parse(String text, Path file, String otherwise) throws RefusedException {
        TomlParseResult toml = Toml.parse(text);
        if (toml.hasErrors()) {
            TomlParseError first = toml.errors().getFirst();
            throw new RefusedException(
                    file
                            + ":"
                            + first.position().line()
                            + otherwise
                            + Quote.shown(first.getMessage()),
                    "fix it; nothing was changed");
        }
        return toml;
    }
}
