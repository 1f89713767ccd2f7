package jnvdocker.daemon;

import jnvdocker.config.ConfigFile;
import jnvdocker.config.ConfigTable;
import jnvdocker.config.StartException;
import jnvdocker.feature.Feature;
import jnvdocker.process.Processes;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;

/** Configurations that are in no file. */
final class TestingConfig {
    /** The file that messages name. */
    static final Path FILE = Path.of("/etc/jnvdocker/config.toml");

    private TestingConfig() {}

    static Config parse(String text) throws StartException {
        return of(ConfigFile.of(List.of(ConfigFile.parse(text, FILE))));
    }

    private static Config of(ConfigFile written) throws StartException {
        return Config.of(written, tables());
    }

    static Config read(Path file, boolean required) throws IOException {
        return Config.read(file, required, tables());
    }

    private static List<ConfigTable<?>> tables() {
        return Features.of(Processes.ofThisMachine()).stream()
                .<ConfigTable<?>>map(Feature::table)
                .toList();
    }

    /** The keys that the file may have, and the names of its tables. */
    static Set<String> keys() throws StartException {
        ConfigFile empty = ConfigFile.of(List.of());
        of(empty);
        return empty.known();
    }
}
