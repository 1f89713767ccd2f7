package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.tests.world.Project;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** The size of the installed tree, and what it has grown by since it was last written down. */
@Tag("tree")
class TreeSizeTest {
    private static final long MOST = 94_000_000;

    /** The directories that are large enough to be measured alone. */
    private static final List<String> PARTS = List.of("java", "lib");

    @Test
    void treeIsSmall() throws IOException {
        Map<String, Long> before = written();
        Map<String, Long> now = sizes(Project.tree());
        assertEquals(before.keySet(), now.keySet());
        now.forEach((part, bytes) -> print(part, bytes, before.get(part)));
        print("tree", sum(now), sum(before));
        assertTrue(sum(now) <= MOST, () -> "the tree has " + sum(now) + " bytes");
    }

    private static void print(String part, long now, long before) {
        System.out.printf(
                Locale.ROOT, "%s: %.2f MB, %+.2f MB%n", part, now / 1e6, (now - before) / 1e6);
    }

    private static long sum(Map<String, Long> sizes) {
        return sizes.values().stream().mapToLong(Long::longValue).sum();
    }

    private static Map<String, Long> written() throws IOException {
        return Files.readAllLines(Project.fixture("tree-size.txt")).stream()
                .filter(line -> !line.startsWith("#"))
                .map(line -> line.split(" "))
                .collect(Collectors.toMap(part -> part[0], part -> Long.parseLong(part[1])));
    }

    private static Map<String, Long> sizes(Path tree) throws IOException {
        Map<String, Long> sizes = new TreeMap<>();
        try (Stream<Path> files = Files.walk(tree)) {
            for (Path file : files.filter(Files::isRegularFile).toList()) {
                String directory = tree.relativize(file).getName(0).toString();
                sizes.merge(
                        PARTS.contains(directory) ? directory : "rest",
                        Files.size(file),
                        Long::sum);
            }
        }
        return sizes;
    }
}
