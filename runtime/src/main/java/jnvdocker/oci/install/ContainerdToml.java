package jnvdocker.oci.install;

import jnvdocker.lease.ClaimNames;
import jnvdocker.words.RefusedException;

import org.tomlj.Toml;
import org.tomlj.TomlArray;
import org.tomlj.TomlParseResult;
import org.tomlj.TomlTable;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Collectors;

/**
 * containerd's {@code config.toml}. Our part is at its end, between two comments; nothing before
 * that is touched. Our handler has the settings of containerd's own, {@code runc}, such as {@code
 * SystemdCgroup}, and another program.
 */
final class ContainerdToml implements EngineSettings {
    private static final String BEGIN = "# jnvdocker runtime install: begin\n";
    private static final String END = "# jnvdocker runtime install: end\n";
    private static final String TYPE = "io.containerd.runc.v2";
    private static final String PROGRAM = "BinaryName";
    private static final String DEFAULT = "default_runtime_name";
    private static final String NEW = "version = 2\n";

    /**
     * The annotations that containerd is to pass on to our runtime: Kubernetes' containers have
     * those of their pods.
     */
    private static final List<String> ANNOTATIONS =
            List.of("pod_annotations", "container_annotations");

    /** The plugin in files of version 2. */
    private static final String VERSION_2 = "io.containerd.grpc.v1.cri";

    /** containerd's own handler. */
    private static final String RUNC = "runc";

    @Override
    public String with(String text, Entry entry) throws RefusedException {
        String others = others(text);
        String base = others.isBlank() ? NEW : others;
        TomlParseResult toml = parse(base, entry.file());
        List<String> plugin = plugin(toml, entry.file());
        if (!entry.resources().isEmpty()) {
            throw new RefusedException(
                    "containerd has no Swarm, so --swarm means nothing here", "leave --swarm out");
        }
        Optional<Found> there = find(toml, plugin, entry.name());
        if (there.isPresent()) {
            throw EngineSettings.taken(entry, entry.file(), there.get().program().toString());
        }
        List<TomlTable> layers = new ArrayList<>(List.of(toml));
        layers.addAll(imported(entry, plugin));
        Map<String, Object> like = merged(layers, handler(plugin, RUNC));
        StringBuilder ours = new StringBuilder(base.endsWith("\n") ? base : base + "\n");
        ours.append(BEGIN);
        if (entry.standard()) {
            if (layers.stream().anyMatch(layer -> layer.getTable(plugin) != null)) {
                throw new RefusedException(
                        entry.file()
                                + ", or a file that it imports, says already which handlers"
                                + " containerd has",
                        "leave --default out, and write %s = \"%s\" below [%s]"
                                .formatted(DEFAULT, entry.name(), header(plugin)));
            }
            appendTable(ours, plugin, DEFAULT, entry.name(), Map.of());
        }
        if (toml.getTable(handler(plugin, RUNC)) == null) {
            // containerd 1.x forgets its own handler where there is any other.
            appendTable(ours, handler(plugin, RUNC), "runtime_type", TYPE, Map.of());
        }
        appendTable(ours, handler(plugin, entry.name()), "runtime_type", TYPE, like);
        for (String key : ANNOTATIONS) {
            appendValue(ours, key, withOurs(like.get(key)));
        }
        appendTable(
                ours,
                options(plugin, entry.name()),
                PROGRAM,
                entry.program().toString(),
                merged(layers, options(plugin, RUNC)));
        String result = ours.append(END).toString();
        // The text there may leave no room for a table of ours, {@code runtimes = {}} say.
        parse(result, entry.file());
        return result;
    }

    /**
     * The imported files that have settings of that plugin.
     *
     * @throws RefusedException when one would take the place of ours
     */
    private static List<TomlTable> imported(Entry entry, List<String> plugin)
            throws RefusedException {
        List<TomlTable> all = new ArrayList<>();
        for (Part part : entry.imports()) {
            TomlParseResult toml = Toml.parse(part.text());
            if (toml.hasErrors() || toml.getTable(plugin.subList(0, 2)) == null) {
                continue;
            }
            Optional<Found> there = find(toml, plugin, entry.name());
            if (there.isPresent()) {
                throw EngineSettings.taken(entry, part.file(), there.get().program().toString());
            }
            if (plugin.contains(VERSION_2)) {
                throw new RefusedException(
                        part.file()
                                + ", which "
                                + entry.file()
                                + " imports, has settings of the same plugin, and containerd 1"
                                + " takes only the last file's",
                        "add the handler to that file, with --config " + part.file());
            }
            all.add(toml);
        }
        return all;
    }

    /** A table of all files. */
    private static Map<String, Object> merged(List<TomlTable> layers, List<String> path) {
        Map<String, Object> all = new TreeMap<>();
        for (TomlTable layer : layers) {
            TomlTable table = layer.getTable(path);
            if (table != null) {
                all.putAll(table.toMap());
            }
        }
        return all;
    }

    private static List<Object> withOurs(Object theirs) {
        List<Object> all =
                new ArrayList<>(theirs instanceof TomlArray list ? list.toList() : List.of());
        if (!all.contains(ClaimNames.GPUS_LABEL)) {
            all.add(ClaimNames.GPUS_LABEL);
        }
        return all;
    }

    /** A table with a value, and with all others of one that is like it. */
    private static void appendTable(
            StringBuilder to,
            List<String> path,
            String key,
            String value,
            Map<String, Object> like) {
        to.append('[').append(header(path)).append("]\n");
        appendValue(to, key, value);
        like.forEach((each, its) -> {
            if (!each.equals(key) && !ANNOTATIONS.contains(each)) {
                appendValue(to, each, its);
            }
        });
    }

    /** Tables have tables of their own here, which are handled separately. */
    private static void appendValue(StringBuilder to, String key, Object value) {
        if (!(value instanceof TomlTable)) {
            to.append("  ").append(key(key)).append(" = ").append(toml(value)).append('\n');
        }
    }

    private static String toml(Object value) {
        return switch (value) {
            case String text -> quoted(text);
            case TomlArray list -> toml(list.toList());
            case List<?> list ->
                    list.stream()
                            .map(ContainerdToml::toml)
                            .collect(Collectors.joining(", ", "[", "]"));
            default -> value.toString();
        };
    }

    private static String quoted(String text) {
        return "\"" + Toml.tomlEscape(text) + "\"";
    }

    @Override
    public List<Part> imports(Path file, String text) throws IOException, RefusedException {
        return ContainerdImports.of(file, text);
    }

    @Override
    public Optional<String> without(String text, Registration registration)
            throws RefusedException {
        String others = others(text);
        return others.equals(NEW) || others.isBlank() ? Optional.empty() : Optional.of(others);
    }

    @Override
    public Optional<Found> find(String text, Path file, String name) throws RefusedException {
        if (text.isBlank()) {
            return Optional.empty();
        }
        TomlParseResult toml = parse(text, file);
        // An imported file need not say its format.
        return toml.get("version") == null
                ? Optional.empty()
                : find(toml, plugin(toml, file), name);
    }

    private static Optional<Found> find(TomlParseResult toml, List<String> plugin, String name) {
        TomlTable handler = toml.getTable(handler(plugin, name));
        if (handler == null) {
            return Optional.empty();
        }
        String program = handler.getString(List.of("options", PROGRAM), () -> TYPE);
        boolean standard = name.equals(toml.getString(at(plugin, DEFAULT)));
        return Optional.of(new Found(Path.of(program), standard));
    }

    @Override
    public Optional<Path> standardProgram(String text, Path file) throws RefusedException {
        if (text.isBlank()) {
            return Optional.empty();
        }
        TomlParseResult toml = parse(others(text), file);
        List<String> program = at(options(plugin(toml, file), RUNC), PROGRAM);
        return Optional.ofNullable(toml.getString(program))
                .filter(path -> path.startsWith("/"))
                .map(Path::of);
    }

    private static String others(String text) throws RefusedException {
        int begin = text.indexOf(BEGIN);
        int end = text.indexOf(END);
        return begin < 0 || end < begin
                ? text
                : text.substring(0, begin) + text.substring(end + END.length());
    }

    private static TomlParseResult parse(String text, Path file) throws RefusedException {
        return TomlText.parse(text, file, " cannot be read, or leaves no room for a handler: ");
    }

    /** The table with the handlers, by the version of the file. */
    private static List<String> plugin(TomlParseResult toml, Path file) throws RefusedException {
        Object version = toml.get("version");
        return switch (version) {
            case Long number when number == 2 -> List.of("plugins", VERSION_2, "containerd");
            case Long number when number >= 3 ->
                    List.of("plugins", "io.containerd.cri.v1.runtime", "containerd");
            case null, default ->
                    throw new RefusedException(
                            file + " is of containerd's first format",
                            "run 'containerd config migrate' first");
        };
    }

    private static List<String> handler(List<String> plugin, String name) {
        return at(at(plugin, "runtimes"), name);
    }

    private static List<String> options(List<String> plugin, String name) {
        return at(handler(plugin, name), "options");
    }

    private static List<String> at(List<String> path, String key) {
        List<String> longer = new ArrayList<>(path);
        longer.add(key);
        return longer;
    }

    private static String header(List<String> path) {
        return path.stream().map(ContainerdToml::key).collect(Collectors.joining("."));
    }

    private static String key(String key) {
        return key.matches("[A-Za-z0-9_-]+") ? key : quoted(key);
    }
}
