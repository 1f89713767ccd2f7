package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.tests.world.Project;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** The README and the manual contain no dead references, and omit nothing that can be counted. */
class ManualTest {
    private static final Path README = Project.root().resolve("README.md");
    private static final Path TESTS = Project.root().resolve("tests/README.md");
    private static final Path MANUAL = Project.source("src").resolve("site/markdown");
    private static final Path INDEX = MANUAL.resolve("index.md");

    /** A reader should see the end of it in sight. */
    private static final int LONGEST_README = 150;

    private static final Pattern LINK = Pattern.compile("\\[[^\\]]+\\]\\(([^)\\s]+)\\)");

    /** Placeholders for files, and files that only a build makes, are excluded. */
    private static final Pattern FILE =
            Pattern.compile(
                    "(?<![\\w./*-])(?:\\.ci|labels|native|runtime|src|tests|volume-plugin)"
                            + "/(?!target/)[\\w./-]*\\w(?!\\w|-?\\*)");

    private static final Pattern TEST = Pattern.compile("`(\\w+Test)(?:#(\\w+))?`");

    static Stream<Path> pages() throws IOException {
        List<Path> pages;
        try (Stream<Path> files = Files.list(MANUAL)) {
            pages = files.sorted().toList();
        }
        return Stream.concat(Stream.of(README, TESTS), pages.stream());
    }

    private static List<MatchResult> all(Pattern pattern, String text) {
        return pattern.matcher(text).results().toList();
    }

    @Test
    void readmeIsShort() throws IOException {
        try (Stream<String> lines = Files.lines(README)) {
            long count = lines.count();
            assertTrue(count <= LONGEST_README, () -> count + " lines");
        }
    }

    /** That each link leads somewhere is tested on the site, by {@code SiteTest}. */
    @Test
    void eachPageIsInTheContents() throws IOException {
        Set<Path> missing = pages().collect(Collectors.toCollection(TreeSet::new));
        for (MatchResult link : all(LINK, Files.readString(INDEX))) {
            missing.remove(INDEX.resolveSibling(link.group(1)).normalize());
        }
        missing.remove(INDEX);
        assertEquals(Set.of(), missing);
    }

    @ParameterizedTest
    @MethodSource("pages")
    void eachFileOfTheProjectIsThere(Path page) throws IOException {
        Set<String> missing =
                all(FILE, Files.readString(page)).stream()
                        .map(MatchResult::group)
                        .filter(file -> !Files.exists(Project.root().resolve(file)))
                        .collect(Collectors.toCollection(TreeSet::new));
        assertEquals(Set.of(), missing);
    }

    @ParameterizedTest
    @MethodSource("pages")
    void eachTestIsThere(Path page) throws IOException {
        Map<String, String> tests = tests();
        Set<String> missing = new TreeSet<>();
        for (MatchResult named : all(TEST, Files.readString(page))) {
            String source = tests.getOrDefault(named.group(1), "");
            String method = named.group(2);
            if (source.isEmpty() || (method != null && !source.contains(" " + method + "("))) {
                missing.add(named.group());
            }
        }
        assertEquals(Set.of(), missing);
    }

    /** The sources of all test classes, by name. */
    private static Map<String, String> tests() throws IOException {
        Map<String, String> tests = new HashMap<>();
        for (String module :
                List.of("labels", "native", "volume-plugin", "runtime", ".", "tests")) {
            Path sources = Project.source(module).resolve("src/test/java");
            try (Stream<Path> files = Files.walk(sources)) {
                for (Path file : files.filter(it -> it.toString().endsWith("Test.java")).toList()) {
                    String name = file.getFileName().toString().replace(".java", "");
                    tests.put(name, Files.readString(file));
                }
            }
        }
        return tests;
    }

    @Test
    void variablesThatMoveFilesAreExplained() throws IOException {
        Set<String> names =
                all(
                                Pattern.compile("JNVDOCKER_\\w+"),
                                Files.readString(
                                        Project.source(
                                                "src/main/java/jnvdocker/daemon/Directories.java")))
                        .stream()
                        .map(MatchResult::group)
                        .collect(Collectors.toCollection(TreeSet::new));
        assertTrue(names.size() > 5, names::toString);
        String page = Files.readString(MANUAL.resolve("configuration.md"));
        names.removeIf(name -> page.contains("`" + name + "`"));
        assertEquals(Set.of(), names);
    }

    /** {@code gpu doctor} prints only names that the manual has. */
    @Test
    void eachCheckIsExplained() throws IOException {
        String page = Files.readString(MANUAL.resolve("doctor.md"));
        Set<String> missing = new TreeSet<>();
        int found = 0;
        Matcher name =
                Pattern.compile("new Check\\(\"(\\w+)\"")
                        .matcher(
                                Files.readString(
                                        Project.source(
                                                "src/main/java/jnvdocker/doctor/Doctor.java")));
        while (name.find()) {
            found++;
            if (!page.contains("\n| `" + name.group(1) + "` |")) {
                missing.add(name.group(1));
            }
        }
        assertTrue(found > 15, "no checks in the sources");
        assertEquals(Set.of(), missing);
    }
}
