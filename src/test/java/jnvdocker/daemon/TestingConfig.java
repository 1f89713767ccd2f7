package jnvdocker.daemon;

import java.nio.file.Path;
import java.util.List;
import java.util.Set;

/** Configurations that are in no file. */
final class TestingConfig {
    /** The file that messages name. */
    static final Path FILE = Path.of("/etc/jnvdocker/config.toml");

    private TestingConfig() {}

    static Config parse(String text) throws StartException {
        return Config.of(ConfigFile.of(List.of(ConfigFile.parse(text, FILE))));
    }

    /** The keys that the file may have, and the names of its tables. */
    static Set<String> keys() throws StartException {
        ConfigFile empty = ConfigFile.of(List.of());
        Config.of(empty);
        return empty.known();
    }
}
