package jnvdocker.oci.install;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;

import jnvdocker.host.Host;
import jnvdocker.words.RefusedException;

import org.tomlj.Toml;
import org.tomlj.TomlArray;
import org.tomlj.TomlTable;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;

/**
 * What gives containers of a host GPUs beside our runtime, as far as its engines' configurations
 * say: NVIDIA's runtimes and hook, and the directories of CDI files.
 */
public final class ForeignRuntimes {
    private static final List<String> CDI = List.of("/etc/cdi", "/var/run/cdi", "/run/cdi");
    private static final List<String> PODMANS =
            List.of("/usr/share/containers/containers.conf", "/etc/containers/containers.conf");
    private static final String PODMANS_PARTS = "/etc/containers/containers.conf.d";
    private static final List<String> HOOKS =
            List.of("/usr/share/containers/oci/hooks.d", "/etc/containers/oci/hooks.d");
    private static final String CONTAINERDS_PARTS = "/etc/containerd/conf.d";

    private static final int SCRIPT = 64 << 10;
    private static final int PART = 1 << 20;

    private final Host host;

    public ForeignRuntimes(Host host) {
        this.host = host;
    }

    /**
     * A runtime in an engine's configuration.
     *
     * @param program as it is written there, mostly an absolute path
     */
    public record Named(EngineKind engine, Path file, String name, String program) {}

    /** The runtimes that podman and containerd are configured with; docker can be queried. */
    public List<Named> named() throws IOException {
        List<Named> all = new ArrayList<>();
        for (Path file : podmans()) {
            if (at(table(file), "engine", "runtimes") instanceof TomlTable runtimes) {
                for (String name : new TreeSet<>(runtimes.keySet())) {
                    texts(runtimes.get(List.of(name))).stream()
                            .map(program -> new Named(EngineKind.PODMAN, file, name, program))
                            .forEach(all::add);
                }
            }
        }
        for (Path file : containerds()) {
            addHandlers(table(file), file, all);
        }
        return all;
    }

    /**
     * The other files of a directory.
     *
     * @param names of files that an engine reads there; empty when it reads none
     */
    static List<EngineSettings.Part> beside(Path file, Optional<String> names) throws IOException {
        List<EngineSettings.Part> others = new ArrayList<>();
        if (names.isPresent()) {
            for (Path other : files(file.getParent(), names.get())) {
                if (!other.equals(file)) {
                    others.add(new EngineSettings.Part(other, text(other)));
                }
            }
        }
        return others;
    }

    /** Wherever they stand: that differs between versions of the file. */
    private static void addHandlers(TomlTable table, Path file, List<Named> to) {
        for (String key : new TreeSet<>(table.keySet())) {
            if (table.get(List.of(key)) instanceof TomlTable inner) {
                if (key.equals("runtimes")) {
                    for (String name : new TreeSet<>(inner.keySet())) {
                        if (at(inner, name, "options", "BinaryName") instanceof String it) {
                            to.add(new Named(EngineKind.CONTAINERD, file, name, it));
                        }
                    }
                }
                addHandlers(inner, file, to);
            }
        }
    }

    /** The directories in which engines search for CDI files, as the host has them. */
    public List<Path> cdiDirectories() throws IOException {
        Set<String> directories = new LinkedHashSet<>(CDI);
        JsonNode docker = docker();
        docker.path("cdi-spec-dirs").forEach(each -> directories.add(each.asText()));
        for (Path file : podmans()) {
            directories.addAll(texts(at(table(file), "engine", "cdi_spec_dirs")));
        }
        for (Path file : containerds()) {
            addCdi(table(file), directories);
        }
        Set<Path> places = new LinkedHashSet<>();
        for (String directory : directories) {
            if (directory.startsWith("/")) {
                places.add(host.resolve(directory));
            }
        }
        return List.copyOf(places);
    }

    /** The CDI files that offer NVIDIA's devices without our hook. */
    public List<Path> nvidiasCdiFiles() throws IOException {
        Set<Path> found = new LinkedHashSet<>();
        for (Path directory : cdiDirectories()) {
            for (Path file : files(directory, "*.{json,yaml,yml}")) {
                if (Files.isRegularFile(file) && CdiFile.isNvidias(beginning(file))) {
                    found.add(file);
                }
            }
        }
        return List.copyOf(found);
    }

    /** The files by which podman and CRI-O run NVIDIA's hook for any container. */
    public List<Path> nvidiasHooks() throws IOException {
        List<Path> found = new ArrayList<>();
        for (String directory : HOOKS) {
            for (Path file : files(host.resolve(directory), "*.json")) {
                if (Files.isRegularFile(file) && beginning(file).contains(RuntimeProgram.NAME)) {
                    found.add(file);
                }
            }
        }
        return found;
    }

    private static String beginning(Path file) throws IOException {
        try (InputStream in = Files.newInputStream(file)) {
            return new String(in.readNBytes(PART), StandardCharsets.UTF_8);
        }
    }

    private static void addCdi(TomlTable table, Set<String> to) {
        for (String key : table.keySet()) {
            Object value = table.get(List.of(key));
            if (key.equals("cdi_spec_dirs")) {
                to.addAll(texts(value));
            } else if (value instanceof TomlTable inner) {
                addCdi(inner, to);
            }
        }
    }

    /** The program that docker runs for {@code --gpus}, where dockerd would find another's. */
    public Optional<Path> hook() throws IOException {
        List<Path> directories = new ArrayList<>();
        for (Path directory : RealRuntime.DIRECTORIES) {
            directories.add(host.resolve(directory.toString()));
        }
        return HookLink.foreign(directories);
    }

    /** Whether a runtime's program is NVIDIA's by its name, or a script that runs such a one. */
    public boolean isNvidias(String program) {
        try {
            if (isNamedSo(Path.of(program))) {
                return true;
            }
            Path file = host.resolve(program);
            return program.startsWith("/")
                    && Files.isRegularFile(file)
                    && (isNamedSo(file) || runsOneNamedSo(file));
        } catch (IOException | InvalidPathException e) {
            return false;
        }
    }

    private static boolean isNamedSo(Path program) {
        Path name = program.getFileName();
        return name != null && name.toString().startsWith(RuntimeProgram.NAME);
    }

    private static boolean runsOneNamedSo(Path script) throws IOException {
        try (InputStream in = Files.newInputStream(script)) {
            String text = new String(in.readNBytes(SCRIPT), StandardCharsets.ISO_8859_1);
            return text.startsWith("#!") && text.contains(RuntimeProgram.NAME);
        }
    }

    private List<Path> podmans() throws IOException {
        List<Path> files = new ArrayList<>();
        for (String file : PODMANS) {
            files.add(host.resolve(file));
        }
        files.addAll(parts(PODMANS_PARTS, "*.conf"));
        return files;
    }

    private List<Path> containerds() throws IOException {
        List<Path> files = new ArrayList<>();
        files.add(host.resolve(EngineKind.CONTAINERD.config().toString()));
        files.addAll(parts(CONTAINERDS_PARTS, "*.toml"));
        return files;
    }

    private List<Path> parts(String directory, String names) throws IOException {
        return files(host.resolve(directory), names);
    }

    private static List<Path> files(Path path, String names) throws IOException {
        if (!Files.isDirectory(path)) {
            return List.of();
        }
        List<Path> parts = new ArrayList<>();
        try (DirectoryStream<Path> files = Files.newDirectoryStream(path, names)) {
            files.forEach(parts::add);
        } catch (DirectoryIteratorException e) {
            throw e.getCause();
        }
        parts.sort(Comparator.naturalOrder());
        return parts;
    }

    /** What its engine cannot read either is as good as empty. */
    private static TomlTable table(Path file) throws IOException {
        return Toml.parse(text(file));
    }

    private JsonNode docker() throws IOException {
        String text = text(host.resolve(EngineKind.DOCKER.config().toString()));
        JsonMapper mapper = JsonMapper.builder().build();
        try {
            return mapper.readTree(text.isEmpty() ? "{}" : text);
        } catch (JsonProcessingException e) {
            return mapper.createObjectNode();
        }
    }

    /** What its engine cannot read either is as good as empty. */
    private static String text(Path file) throws IOException {
        try {
            return Files.exists(file, LinkOption.NOFOLLOW_LINKS) ? SettingsFile.read(file) : "";
        } catch (RefusedException e) {
            return "";
        }
    }

    /**
     * Returns null, too, where something on the way is no table, which TOML's own getter throws
     * for.
     */
    private static Object at(TomlTable table, String... keys) {
        Object value = table;
        for (String key : keys) {
            value = value instanceof TomlTable inner ? inner.get(List.of(key)) : null;
        }
        return value;
    }

    private static List<String> texts(Object value) {
        return switch (value) {
            case String text -> List.of(text);
            case TomlArray list ->
                    list.toList().stream()
                            .filter(String.class::isInstance)
                            .map(String.class::cast)
                            .toList();
            case null, default -> List.of();
        };
    }
}
