package jnvdocker.oci.install;

import jnvdocker.lease.ClaimNames;
import jnvdocker.words.RefusedException;

import org.tomlj.Toml;
import org.tomlj.TomlArray;
import org.tomlj.TomlParseResult;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * A handler of containerd: a file of ours where its {@code config.toml} imports a directory, as
 * containerd 2 reads them; else lines for an administrator, since containerd 1 takes a plugin's
 * settings from one file alone.
 */
final class ContainerdConf extends DropIn {
    private static final String NAME = "jnvdocker.toml";
    private static final String TYPE = "io.containerd.runc.v2";
    private static final String PROGRAM = "BinaryName";
    private static final String RUNC = "runc";

    /** The plugin in files of version 2, and from version 3 on. */
    private static final String OLD = "io.containerd.grpc.v1.cri";

    private static final String NEW = "io.containerd.cri.v1.runtime";

    ContainerdConf() {
        super(EngineKind.CONTAINERD);
    }

    @Override
    public Path file(Path config, String text) throws RefusedException {
        if (text.isBlank() || isOurs(config)) {
            return config;
        }
        TomlParseResult toml = parse(text, config);
        return plugin(toml, config).equals(NEW) && toml.get("imports") instanceof TomlArray imports
                ? imports.toList().stream()
                        .filter(it -> it instanceof String pattern && pattern.endsWith("/*.toml"))
                        .map(it -> config.resolveSibling((String) it).resolveSibling(NAME))
                        .map(Path::normalize)
                        .findFirst()
                        .orElse(config)
                : config;
    }

    /** The configuration that imports a file of ours, where it has its usual name and place. */
    static Path above(Path file) {
        return isOurs(file)
                ? file.getParent().resolveSibling(EngineKind.CONTAINERD.config().getFileName())
                : file;
    }

    private static boolean isOurs(Path file) {
        return file.endsWith(NAME);
    }

    @Override
    String remedy() {
        return "give it another name";
    }

    @Override
    public Optional<String> besides(Path file) {
        return isOurs(file) ? super.besides(file) : Optional.empty();
    }

    @Override
    public String with(String text, Entry entry) throws RefusedException {
        refuseSwarm(entry);
        refuseTaken(entry, entry.engines());
        return isOurs(entry.file()) ? super.with(text, entry) : text;
    }

    @Override
    public Optional<String> lines(String text, Entry entry) throws RefusedException {
        if (isOurs(entry.file()) || find(text, entry.file(), entry.name()).isPresent()) {
            return Optional.empty();
        }
        String plugin = plugin(entry.engines(), OLD);
        return Optional.of((text.isBlank() ? version(plugin) : "") + handler(entry, plugin));
    }

    @Override
    String text(Entry entry) throws RefusedException {
        String plugin = plugin(entry.engines(), NEW);
        return version(plugin) + handler(entry, plugin);
    }

    /** The plugin of the engine's own configuration, or another where that has no text. */
    private static String plugin(Part engines, String other) throws RefusedException {
        return engines.text().isBlank()
                ? other
                : plugin(parse(engines.text(), engines.file()), engines.file());
    }

    /** The line of the format that has the plugin. */
    private static String version(String plugin) {
        return "version = " + (plugin.equals(OLD) ? 2 : 3) + "\n";
    }

    private static String handler(Entry entry, String plugin) throws RefusedException {
        TomlParseResult toml = parse(entry.engines().text(), entry.engines().file());
        String table = "[plugins.\"" + plugin + "\".containerd";
        List<String> lines = new ArrayList<>();
        if (entry.standard()) {
            lines.add(table + "]");
            lines.add("  default_runtime_name = \"" + entry.name() + "\"");
        }
        if (toml.getTable(handler(plugin, RUNC)) == null) {
            // containerd 1.x forgets its own handler where there is any other.
            lines.add(table + ".runtimes." + RUNC + "]");
            lines.add("  runtime_type = \"" + TYPE + "\"");
        }
        lines.add(table + ".runtimes." + entry.name() + "]");
        lines.add("  runtime_type = \"" + TYPE + "\"");
        // Kubernetes' containers have the annotations of their pods.
        for (String key : List.of("pod_annotations", "container_annotations")) {
            lines.add("  " + key + " = [\"" + ClaimNames.GPUS_LABEL + "\"]");
        }
        lines.add(table + ".runtimes." + entry.name() + ".options]");
        lines.add("  " + PROGRAM + " = \"" + entry.program() + "\"");
        if (toml.get(handler(plugin, RUNC, "options", "SystemdCgroup")) instanceof Boolean its) {
            lines.add("  SystemdCgroup = " + its);
        }
        return String.join("\n", lines) + "\n";
    }

    @Override
    boolean isStandard(TomlParseResult toml, String name) {
        return Stream.of(OLD, NEW)
                .anyMatch(plugin ->
                        name.equals(
                                toml.get(
                                        List.of(
                                                "plugins",
                                                plugin,
                                                "containerd",
                                                "default_runtime_name"))));
    }

    @Override
    Optional<String> program(TomlParseResult toml, String name) {
        return Stream.of(OLD, NEW)
                .flatMap(plugin ->
                        toml.get(handler(plugin, name, "options", PROGRAM)) instanceof String its
                                ? Stream.of(its)
                                : toml.getTable(handler(plugin, name)) == null
                                        ? Stream.empty()
                                        : Stream.of(TYPE))
                .findFirst();
    }

    @Override
    public Optional<Path> standardProgram(String text, Path file) {
        return program(Toml.parse(text), RUNC).filter(it -> it.startsWith("/")).map(Path::of);
    }

    private static TomlParseResult parse(String text, Path file) throws RefusedException {
        return TomlText.parse(text, file, " cannot be read: ");
    }

    private static String plugin(TomlParseResult toml, Path file) throws RefusedException {
        return switch (toml.get("version")) {
            case Long number when number == 2 -> OLD;
            case Long number when number >= 3 -> NEW;
            case null, default ->
                    throw new RefusedException(
                            file + " is of containerd's first format",
                            "run 'containerd config migrate' first");
        };
    }

    private static List<String> handler(String plugin, String name, String... below) {
        return Stream.concat(
                        Stream.of("plugins", plugin, "containerd", "runtimes", name),
                        Stream.of(below))
                .toList();
    }
}
