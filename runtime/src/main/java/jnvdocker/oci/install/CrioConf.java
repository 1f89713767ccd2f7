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
        return "%s[crio.runtime.runtimes.%s]\nruntime_path = \"%s\"\n"
                .formatted(entry.standard() ? standard : "", entry.name(), entry.program());
    }

    @Override
    boolean isStandard(TomlParseResult toml, String name) {
        return name.equals(toml.getString(List.of("crio", "runtime", "default_runtime")));
    }

    @Override
    Optional<String> program(TomlParseResult toml, String name) {
        List<String> key = List.of("crio", "runtime", "runtimes", name, "runtime_path");
        return Optional.ofNullable(toml.getString(key));
    }
}
