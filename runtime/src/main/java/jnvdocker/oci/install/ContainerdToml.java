package jnvdocker.oci.install;

import jnvdocker.lease.ClaimNames;
import jnvdocker.words.RefusedException;

import org.tomlj.Toml;
import org.tomlj.TomlArray;
import org.tomlj.TomlParseResult;
import org.tomlj.TomlTable;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
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
            throw EngineSettings.taken(entry, there.get().program().toString());
        }
        StringBuilder ours = new StringBuilder(base.endsWith("\n") ? base : base + "\n");
        ours.append(BEGIN);
        if (entry.standard()) {
            if (toml.getTable(plugin) != null) {
                throw new RefusedException(
                        entry.file() + " says already which handlers containerd has",
                        "leave --default out, and write "
                                + DEFAULT
                                + " = \""
                                + entry.name()
                                + "\" below ["
                                + header(plugin)
                                + "]");
            }
            appendTable(ours, plugin, DEFAULT, entry.name(), null);
        }
        if (toml.getTable(handler(plugin, RUNC)) == null) {
            // containerd 1.x forgets its own handler where there is any other.
            appendTable(ours, handler(plugin, RUNC), "runtime_type", TYPE, null);
        }
        appendTable(
                ours,
                handler(plugin, entry.name()),
                "runtime_type",
                TYPE,
                toml.getTable(handler(plugin, RUNC)));
        for (String key : ANNOTATIONS) {
            appendValue(ours, key, withOurs(toml.getTable(handler(plugin, RUNC)), key));
        }
        appendTable(
                ours,
                options(plugin, entry.name()),
                PROGRAM,
                entry.program().toString(),
                toml.getTable(options(plugin, RUNC)));
        String result = ours.append(END).toString();
        // The text there may leave no room for a table of ours, {@code runtimes = {}} say.
        parse(result, entry.file());
        return result;
    }

    private static List<Object> withOurs(TomlTable like, String key) {
        TomlArray theirs = like == null ? null : like.getArray(List.of(key));
        List<Object> all = new ArrayList<>(theirs == null ? List.of() : theirs.toList());
        if (!all.contains(ClaimNames.GPUS_LABEL)) {
            all.add(ClaimNames.GPUS_LABEL);
        }
        return all;
    }

    /** A table with a value, and with all others of one that is like it. */
    private static void appendTable(
            StringBuilder to, List<String> path, String key, String value, TomlTable like) {
        to.append('[').append(header(path)).append("]\n");
        appendValue(to, key, value);
        if (like != null) {
            like.keySet().stream()
                    .filter(each -> !each.equals(key) && !ANNOTATIONS.contains(each))
                    .forEach(each -> appendValue(to, each, like.get(List.of(each))));
        }
    }

    /** Tables have tables of their own here, which are seen to apart. */
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
        return find(toml, plugin(toml, file), name);
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
            case Long number when number == 2 ->
                    List.of("plugins", "io.containerd.grpc.v1.cri", "containerd");
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
