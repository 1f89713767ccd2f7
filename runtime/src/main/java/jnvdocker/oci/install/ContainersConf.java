package jnvdocker.oci.install;

import org.tomlj.TomlArray;
import org.tomlj.TomlParseResult;

import java.util.List;
import java.util.Optional;

/** A file of podman's {@code containers.conf.d}. */
final class ContainersConf extends DropIn {
    ContainersConf() {
        super(EngineKind.PODMAN);
    }

    @Override
    String text(Entry entry) {
        return (entry.standard() ? "[engine]\nruntime = \"" + entry.name() + "\"\n\n" : "")
                + "[engine.runtimes]\n"
                + entry.name()
                + " = [\""
                + entry.program()
                + "\"]\n";
    }

    @Override
    boolean isStandard(TomlParseResult toml, String name) {
        return name.equals(toml.getString(List.of("engine", "runtime")));
    }

    @Override
    Optional<String> program(TomlParseResult toml, String name) {
        TomlArray programs = toml.getArray(List.of("engine", "runtimes", name));
        return programs != null && !programs.isEmpty() && programs.get(0) instanceof String program
                ? Optional.of(program)
                : Optional.empty();
    }
}
