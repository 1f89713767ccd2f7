package jnvdocker.manual;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

class SiteTest {
    private static final Pattern LINK = Pattern.compile(" (?:href|src)=\"([^\"]*)\"");

    @TempDir private static Path site;

    @BeforeAll
    static void write() throws IOException {
        new Site(Path.of(".."), "1.2.3").write(site);
    }

    private static List<Path> pages() throws IOException {
        try (Stream<Path> files = Files.list(site)) {
            return files.filter(it -> it.toString().endsWith(".html")).sorted().toList();
        }
    }

    /** Also where the addresses of {@code index.md} and a page's own contents lead. */
    @Test
    void eachLinkAndAnchorLeadsSomewhere() throws IOException {
        Set<String> broken = new TreeSet<>();
        int links = 0;
        for (Path page : pages()) {
            Matcher link = LINK.matcher(Files.readString(page));
            while (link.find()) {
                links++;
                if (!link.group(1).contains("://") && !leads(page, link.group(1))) {
                    broken.add(page.getFileName() + " -> " + link.group(1));
                }
            }
        }
        assertEquals(Set.of(), broken);
        assertTrue(links > 1000, links + " links");
    }

    private static boolean leads(Path page, String target) throws IOException {
        String[] parts = target.split("#", 2);
        Path file = parts[0].isEmpty() ? page : page.resolveSibling(parts[0]);
        return Files.isRegularFile(file)
                && (parts.length == 1
                        || Files.readString(file).contains(" id=\"" + parts[1] + "\""));
    }

    /** It works without a network. */
    @Test
    void nothingIsLoadedFromElsewhere() throws IOException {
        for (Path page : pages()) {
            String html = Files.readString(page).replaceAll("<a [^>]*>", "");
            assertTrue(!LINK.matcher(html).results().anyMatch(it -> it.group(1).contains(":")));
        }
        assertTrue(!Files.readString(site.resolve("site.css")).matches("(?s).*(url\\(|@import).*"));
    }

    @Test
    void pagesFollowEachOtherInTheOrderOfTheContents() throws IOException {
        List<String> order = new ArrayList<>(List.of("index.html"));
        Pattern next = Pattern.compile("<a rel=\"next\" href=\"([^\"]*)\"");
        Matcher link = next.matcher(Files.readString(site.resolve("index.html")));
        while (link.find() && order.size() < 100) {
            order.add(link.group(1));
            link = next.matcher(Files.readString(site.resolve(link.group(1))));
        }
        String contents = Files.readString(site.resolve("contents.html"));
        List<String> table =
                Pattern.compile("<td><a href=\"([^\"]*)\"")
                        .matcher(contents)
                        .results()
                        .map(it -> it.group(1))
                        .toList();
        assertEquals(table, order);
        assertTrue(order.size() > 30, order::toString);
    }
}
