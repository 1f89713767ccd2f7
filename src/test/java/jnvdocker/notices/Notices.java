package jnvdocker.notices;

import org.tomlj.Toml;
import org.tomlj.TomlParseResult;
import org.tomlj.TomlTable;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;

/** Writes the notices of a laid-out tree: each part with its licence, and the texts of these. */
public final class Notices {
    private static final String RULE = "\n" + "-".repeat(80) + "\n\n";
    private static final Pattern JAR = Pattern.compile("(.+?)-(\\d.*)\\.jar");
    private static final Pattern TEXT =
            Pattern.compile("META-INF/(?:.*/)?[^/]*(?:NOTICE|LICENSE)[^/]*");

    /** For a jar with Apache's licence, only its additional notices count. */
    private static final String APACHE = "Version 2.0, January 2004";

    private final Path tree;
    private final Path licenses;
    private final TomlParseResult known;

    /**
     * @param tree that has {@code lib} and {@code java}
     * @param known the file that names all parts
     * @param licenses the directory of texts
     */
    Notices(Path tree, Path known, Path licenses) throws IOException {
        this.tree = tree;
        this.licenses = licenses;
        this.known = Toml.parse(known);
        if (this.known.hasErrors()) {
            throw new IllegalArgumentException(known + ": " + this.known.errors());
        }
    }

    /**
     * @param args the tree, the file that names the parts, the directory of texts, Apache's
     *     licence, and the file to write
     */
    public static void main(String[] args) throws IOException {
        String text =
                new Notices(Path.of(args[0]), Path.of(args[1]), Path.of(args[2]))
                        .text(Files.readString(Path.of(args[3])));
        Path target = Path.of(args[4]);
        Files.createDirectories(target.getParent());
        Files.writeString(target, text);
    }

    /**
     * A jar, a part of one or of a program.
     *
     * @param version empty if it is not known
     * @param in the jars or programs of which it is a part; empty for a jar
     * @param copyright empty where the texts have it
     * @param texts that the jar carries
     */
    record Part(
            String name,
            String version,
            String in,
            String license,
            String copyright,
            String source,
            List<String> texts) {
        private String title() {
            return name
                    + (version.isEmpty() ? "" : " " + version)
                    + (in.isEmpty() ? "" : ", in " + in);
        }
    }

    /**
     * @throws IllegalArgumentException naming what is not known, not shipped or not accepted
     */
    String text(String apache) throws IOException {
        List<Part> parts = new ArrayList<>(jars());
        parts.addAll(parts());
        Set<String> accepted =
                known.getArrayOrEmpty("accepted").toList().stream()
                        .map(String::valueOf)
                        .collect(Collectors.toCollection(TreeSet::new));
        StringBuilder text =
                new StringBuilder(
                        "jnvdocker contains or is shipped with these works of others. The sources"
                                + " of each are at the\n"
                                + "address below its name; the texts of the licences follow.\n\n");
        for (Part part : parts) {
            if (!accepted.contains(part.license())) {
                throw new IllegalArgumentException(
                        part.title()
                                + " has the licence "
                                + part.license()
                                + ", which is not accepted");
            }
            text.append(part.title()).append('\n');
            Stream.of(part.license(), part.copyright(), part.source())
                    .filter(line -> !line.isEmpty())
                    .forEach(line -> text.append("    ").append(line).append('\n'));
        }
        for (Part part : parts) {
            for (String each : part.texts()) {
                append(text, part.title(), each);
            }
        }
        Set<String> used =
                parts.stream().map(Part::license).collect(Collectors.toCollection(TreeSet::new));
        for (String license : used) {
            append(
                    text,
                    license,
                    license.equals("Apache-2.0")
                            ? apache
                            : Files.readString(licenses.resolve(license + ".txt")));
        }
        return text.toString();
    }

    private static void append(StringBuilder text, String title, String more) {
        text.append(RULE).append(title).append("\n\n").append(more.strip()).append('\n');
    }

    private List<Part> jars() throws IOException {
        Map<String, TomlTable> entries = new TreeMap<>();
        for (TomlTable entry : tables("jars")) {
            entry.getArrayOrEmpty("names")
                    .toList()
                    .forEach(name -> entries.put((String) name, entry));
        }
        List<Part> jars = new ArrayList<>();
        for (Path jar : files(tree.resolve("lib"), ".jar")) {
            Matcher name = JAR.matcher(jar.getFileName().toString());
            if (!name.matches()) {
                throw new IllegalArgumentException(jar + " has no version in its name");
            }
            if (name.group(1).startsWith("jnvdocker")) {
                continue;
            }
            TomlTable entry = entries.remove(name.group(1));
            if (entry == null) {
                throw new IllegalArgumentException(
                        name.group(1)
                                + " is shipped, and third-party.toml does not name its licence");
            }
            jars.add(
                    new Part(
                            name.group(1),
                            name.group(2),
                            "",
                            entry.getString("license"),
                            entry.getString("copyright", () -> ""),
                            entry.getString("source").replace("{name}", name.group(1)),
                            carried(jar)));
        }
        if (!entries.isEmpty()) {
            throw new IllegalArgumentException(
                    "third-party.toml names what is not shipped: " + entries.keySet());
        }
        return jars;
    }

    /**
     * The parts of jars and programs, each with one of the accepted licences.
     *
     * @throws IllegalArgumentException naming a library that no part is in
     */
    List<Part> parts() throws IOException {
        Set<String> libraries = new TreeSet<>();
        for (Path library : files(tree.resolve("lib/native"), ".so")) {
            libraries.add(library.getFileName().toString());
        }
        // Our own scripts are shipped as they are written.
        for (Path script : files(tree, ".min.js")) {
            libraries.add(script.getFileName().toString());
        }
        List<Part> parts = new ArrayList<>();
        for (TomlTable entry : tables("parts")) {
            String in = entry.getString("in");
            List.of(in.split(", ")).forEach(libraries::remove);
            parts.add(
                    new Part(
                            entry.getString("name"),
                            in.equals("java") ? javaVersion() : "",
                            in,
                            entry.getString("license"),
                            entry.getString("copyright", () -> ""),
                            entry.getString("source"),
                            List.of()));
        }
        if (!libraries.isEmpty()) {
            throw new IllegalArgumentException(
                    "third-party.toml does not name what these libraries are made of: "
                            + libraries);
        }
        return parts;
    }

    private List<TomlTable> tables(String key) {
        List<TomlTable> tables = new ArrayList<>();
        known.getArrayOrEmpty(key).toList().forEach(each -> tables.add((TomlTable) each));
        return tables;
    }

    private static List<String> carried(Path jar) throws IOException {
        List<String> texts = new ArrayList<>();
        try (ZipFile zip = new ZipFile(jar.toFile())) {
            for (ZipEntry entry : zip.stream().toList()) {
                if (TEXT.matcher(entry.getName()).matches()) {
                    try (InputStream in = zip.getInputStream(entry)) {
                        String text = new String(in.readAllBytes(), StandardCharsets.UTF_8);
                        if (!text.contains(APACHE)) {
                            texts.add(text.replace("\r", ""));
                        }
                    }
                }
            }
        }
        return texts;
    }

    /** Its own notices lie beside it. */
    private String javaVersion() throws IOException {
        Path legal = tree.resolve("java/legal/java.base/LICENSE");
        if (!Files.exists(legal)) {
            throw new IllegalArgumentException("there is no " + legal);
        }
        Properties release = new Properties();
        try (InputStream in = Files.newInputStream(tree.resolve("java/release"))) {
            release.load(in);
        }
        return release.getProperty("JAVA_VERSION").replace("\"", "");
    }

    private static List<Path> files(Path directory, String suffix) throws IOException {
        try (Stream<Path> files = Files.walk(directory)) {
            return files.filter(file -> file.toString().endsWith(suffix)).sorted().toList();
        }
    }
}
