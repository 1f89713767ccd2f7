package jnvdocker.oci.install;

import jnvdocker.words.RefusedException;

import org.tomlj.Toml;
import org.tomlj.TomlArray;
import org.tomlj.TomlParseResult;

import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/** A file of podman's {@code containers.conf.d}, which is ours alone. */
final class ContainersConf implements EngineSettings {
    private static final String HEADER =
            "# Written by 'jnvdocker runtime install', removed by 'jnvdocker runtime uninstall'.\n";

    @Override
    public String with(String text, Entry entry) throws RefusedException {
        if (!text.isBlank() && !text.startsWith(HEADER)) {
            throw new RefusedException(
                    entry.file() + " is not jnvdocker's",
                    "name a file of its own with --config, such as " + EngineKind.PODMAN.config());
        }
        if (!entry.resources().isEmpty()) {
            throw new RefusedException(
                    "podman has no Swarm, so --swarm means nothing here", "leave --swarm out");
        }
        return HEADER
                + (entry.standard() ? "[engine]\nruntime = \"" + entry.name() + "\"\n\n" : "")
                + "[engine.runtimes]\n"
                + entry.name()
                + " = [\""
                + entry.program()
                + "\"]\n";
    }

    @Override
    public Optional<String> without(String text, Registration registration) {
        return text.startsWith(HEADER) ? Optional.empty() : Optional.of(text);
    }

    @Override
    public Optional<Found> find(String text, Path file, String name) {
        TomlParseResult toml = Toml.parse(text);
        TomlArray programs = toml.getArray(List.of("engine", "runtimes", name));
        if (toml.hasErrors()
                || programs == null
                || !(programs.get(0) instanceof String program)
                || !program.startsWith("/")) {
            return Optional.empty();
        }
        boolean standard = name.equals(toml.getString("engine.runtime", () -> ""));
        return Optional.of(new Found(Path.of(program), standard));
    }
}
