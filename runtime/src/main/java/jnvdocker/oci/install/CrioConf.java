package jnvdocker.oci.install;

import org.tomlj.TomlParseResult;

import java.util.List;
import java.util.Optional;

/** A file of CRI-O's {@code crio.conf.d}. What it does not say of the runtime, CRI-O has itself. */
final class CrioConf extends DropIn {
    CrioConf() {
        super(EngineKind.CRIO);
    }

    @Override
    String text(Entry entry) {
        String standard = "[crio.runtime]\ndefault_runtime = \"" + entry.name() + "\"\n\n";
        return (entry.standard() ? standard : "")
                + "[crio.runtime.runtimes."
                + entry.name()
                + "]\nruntime_path = \""
                + entry.program()
                + "\"\n";
    }

    @Override
    List<String> standard() {
        return List.of("crio", "runtime", "default_runtime");
    }

    @Override
    Optional<String> program(TomlParseResult toml, String name) {
        List<String> key = List.of("crio", "runtime", "runtimes", name, "runtime_path");
        return Optional.ofNullable(toml.getString(key));
    }
}
