package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.tests.world.Project;

import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** The README is short, and every link in it and in the manual leads somewhere. */
class ManualTest {
    private static final Path README = Project.root().resolve("README.md");
    private static final Path MANUAL = Project.source("src").resolve("site/markdown");
    private static final int README_LINES = 200;

    private static final Pattern FENCE = Pattern.compile("^ {0,3}```");
    private static final Pattern CODE = Pattern.compile("(`+).+?\\1");
    private static final Pattern LINK = Pattern.compile("\\[[^]\\[]*]\\(([^)\\s]+)\\)");
    private static final Pattern HEADING = Pattern.compile("^#{1,6} +(.+?) *#*$");
    private static final Pattern ABSOLUTE = Pattern.compile("^[a-z][a-z+.-]*:.*");

    private static List<Path> manual() throws IOException {
        try (Stream<Path> files = Files.list(MANUAL)) {
            return files.filter(it -> it.toString().endsWith(".md")).sorted().toList();
        }
    }

    private static List<Path> pages() throws IOException {
        List<Path> pages = new ArrayList<>(manual());
        pages.add(README);
        pages.add(Project.root().resolve("tests/README.md"));
        return pages;
    }

    /** Those lines that are not code, by indentation or between fences. */
    private static List<String> prose(Path page) throws IOException {
        List<String> prose = new ArrayList<>();
        boolean isFenced = false;
        for (String line : Files.readAllLines(page)) {
            if (FENCE.matcher(line).find()) {
                isFenced = !isFenced;
            } else if (!isFenced && !line.startsWith("    ")) {
                prose.add(line);
            }
        }
        return prose;
    }

    private static Set<String> links(Path page) throws IOException {
        // Joined, since the words of a link may go over the end of a line; what is code is no link.
        String text = String.join(" ", prose(page));
        Set<String> links = new TreeSet<>();
        Matcher link = LINK.matcher(withoutCode(text));
        while (link.find()) {
            links.add(link.group(1));
        }
        return links;
    }

    /** Code within a link's words stays as one letter, so that the link is still seen. */
    private static String withoutCode(String text) {
        return CODE.matcher(text).replaceAll("x");
    }

    /** As GitHub makes them: of two headings with the same words the second has a number. */
    private static Set<String> anchors(Path page) throws IOException {
        Map<String, Integer> seen = new HashMap<>();
        Set<String> anchors = new TreeSet<>();
        for (String line : prose(page)) {
            Matcher heading = HEADING.matcher(line);
            if (heading.find()) {
                String anchor = anchor(heading.group(1));
                int count = seen.merge(anchor, 1, Integer::sum);
                anchors.add(count == 1 ? anchor : anchor + "-" + (count - 1));
            }
        }
        return anchors;
    }

    static String anchor(String heading) {
        return heading.replaceAll("\\[([^]]*)]\\([^)]*\\)", "$1")
                .toLowerCase(Locale.ROOT)
                .replaceAll("[^\\p{L}\\p{N}_ -]", "")
                .replace(' ', '-');
    }

    private static boolean leadsSomewhere(Path page, String link) throws IOException {
        int hash = link.indexOf('#');
        String file = hash < 0 ? link : link.substring(0, hash);
        Path target = file.isEmpty() ? page : page.resolveSibling(file).normalize();
        if (!target.startsWith(Project.root()) || !Files.exists(target)) {
            return false;
        }
        return hash < 0
                || (target.toString().endsWith(".md")
                        && anchors(target).contains(link.substring(hash + 1)));
    }

    @Test
    void everyLinkLeadsSomewhere() throws IOException {
        Set<String> astray = new TreeSet<>();
        int count = 0;
        for (Path page : pages()) {
            for (String link : links(page)) {
                if (!ABSOLUTE.matcher(link).matches()) {
                    count++;
                    if (!leadsSomewhere(page, link)) {
                        astray.add(Project.root().relativize(page) + ": " + link);
                    }
                }
            }
        }
        int links = count;
        assertTrue(links > 80, () -> "only " + links + " links were seen");
        assertEquals(Set.of(), astray);
    }

    @Test
    void linkAstrayIsSeen() throws IOException {
        assertTrue(leadsSomewhere(README, "LICENSE"));
        assertTrue(leadsSomewhere(README, "#the-manual"));
        assertTrue(leadsSomewhere(README, "src/site/markdown/runtime.md#cdi-devices"));
        for (String astray :
                List.of("NONE.md", "#none", "src/site/markdown/runtime.md#none", "../README.md")) {
            assertEquals(false, leadsSomewhere(README, astray), astray);
        }
        assertEquals("gpu-ls-gpu-why", anchor("`gpu ls`, gpu why"));
        assertEquals("links-in-devchar", anchor("Links in /dev/char"));
        assertEquals("the-drivers-version", anchor("The driver's [version](needs.md)"));
    }

    @Test
    void everyPageIsInTheContents() throws IOException {
        Set<String> missing = new TreeSet<>();
        manual().forEach(page -> missing.add(page.getFileName().toString()));
        missing.remove("index.md");
        missing.removeAll(links(MANUAL.resolve("index.md")));
        assertEquals(Set.of(), missing);
    }

    @Test
    void readmeIsShort() throws IOException {
        int lines = Files.readAllLines(README).size();
        assertTrue(
                lines <= README_LINES,
                () -> "README.md has " + lines + " lines; move some of it into the manual");
    }
}
