package jnvdocker.oci.install;

import jnvdocker.words.RefusedException;

import org.tomlj.Toml;
import org.tomlj.TomlParseResult;

import java.nio.file.Path;
import java.util.Optional;

/** A file of ours alone in a directory that an engine reads beside its own configuration. */
abstract sealed class DropIn implements EngineSettings
        permits ContainerdConf, ContainersConf, CrioConf {
    private static final String HEADER =
            "# Written by 'jnvdocker runtime install', removed by 'jnvdocker runtime uninstall'.\n";

    private final EngineKind engine;

    DropIn(EngineKind engine) {
        this.engine = engine;
    }

    /** The text of a file with this runtime. */
    abstract String text(Entry entry) throws RefusedException;

    /** Whether containers get the runtime with that name which name none. */
    abstract boolean isStandard(TomlParseResult toml, String name);

    /** The program of the runtime with that name. */
    abstract Optional<String> program(TomlParseResult toml, String name);

    @Override
    public String with(String text, Entry entry) throws RefusedException {
        if (!text.isBlank() && !text.startsWith(HEADER)) {
            throw new RefusedException(entry.file() + " is not jnvdocker's", remedy());
        }
        refuseSwarm(entry);
        for (Part other : entry.others()) {
            refuseTaken(entry, other);
        }
        return HEADER + text(entry);
    }

    @Override
    public Optional<String> besides(Path file) {
        String name = file.getFileName().toString();
        return Optional.of("*" + name.substring(Math.max(name.lastIndexOf('.'), 0)));
    }

    /** Engines merge all of these files: one of the two programs would be the other's. */
    final void refuseTaken(Entry entry, Part part) throws RefusedException {
        TomlParseResult toml = Toml.parse(part.text());
        Optional<String> taken =
                program(toml, entry.name())
                        .filter(program -> !program.equals(entry.program().toString()));
        if (taken.isPresent()) {
            throw EngineSettings.taken(entry, part.file(), taken.get());
        }
    }

    /** The remedy where the file is another's. */
    String remedy() {
        return "name a file of its own with --config, such as " + engine.config();
    }

    final void refuseSwarm(Entry entry) throws RefusedException {
        if (!entry.resources().isEmpty()) {
            throw new RefusedException(
                    engine.title() + " has no Swarm, so --swarm means nothing here",
                    "leave --swarm out");
        }
    }

    @Override
    public final Optional<String> without(String text, Registration registration) {
        return text.startsWith(HEADER) ? Optional.empty() : Optional.of(text);
    }

    @Override
    public final Optional<Found> find(String text, Path file, String name) {
        TomlParseResult toml = Toml.parse(text);
        if (toml.hasErrors()) {
            return Optional.empty();
        }
        boolean isStandard = isStandard(toml, name);
        return program(toml, name)
                .filter(program -> program.startsWith("/"))
                .map(program -> new Found(Path.of(program), isStandard));
    }
}
