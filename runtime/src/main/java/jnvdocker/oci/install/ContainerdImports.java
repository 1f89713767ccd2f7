package jnvdocker.oci.install;

import jnvdocker.words.RefusedException;

import org.tomlj.Toml;
import org.tomlj.TomlArray;

import java.io.IOException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.PatternSyntaxException;

/**
 * The files that containerd's {@code config.toml} imports, in an order in which the last one
 * counts.
 */
final class ContainerdImports {
    private static final int MOST = 64;

    private ContainerdImports() {}

    /**
     * Reads those that are there.
     *
     * @param text of that file
     */
    static List<EngineSettings.Part> of(Path file, String text)
            throws IOException, RefusedException {
        Map<Path, String> parts = new LinkedHashMap<>();
        List<Path> wanted = new ArrayList<>(imported(file, text));
        while (!wanted.isEmpty() && parts.size() < MOST) {
            Path next = wanted.removeFirst();
            if (!next.equals(file) && !parts.containsKey(next)) {
                String its = SettingsFile.read(next);
                parts.put(next, its);
                wanted.addAll(imported(next, its));
            }
        }
        return parts.entrySet().stream()
                .map(it -> new EngineSettings.Part(it.getKey(), it.getValue()))
                .toList();
    }

    private static List<Path> imported(Path file, String text) throws IOException {
        List<Path> all = new ArrayList<>();
        if (Toml.parse(text).get("imports") instanceof TomlArray imports) {
            for (Object each : imports.toList()) {
                if (each instanceof String pattern) {
                    all.addAll(matching(file, pattern));
                }
            }
        }
        return all;
    }

    /** A pattern for directories is left to containerd. */
    private static List<Path> matching(Path file, String pattern) throws IOException {
        List<Path> files = new ArrayList<>();
        int name = pattern.lastIndexOf('/') + 1;
        try {
            Path directory = file.resolveSibling(pattern.substring(0, name)).normalize();
            if (Files.isDirectory(directory) && name < pattern.length()) {
                try (DirectoryStream<Path> all =
                        Files.newDirectoryStream(directory, pattern.substring(name))) {
                    all.forEach(files::add);
                }
            }
        } catch (DirectoryIteratorException e) {
            throw e.getCause();
        } catch (PatternSyntaxException | InvalidPathException e) {
            return List.of();
        }
        files.sort(Comparator.naturalOrder());
        return files;
    }
}
