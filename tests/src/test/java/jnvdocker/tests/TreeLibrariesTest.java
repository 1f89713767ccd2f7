package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;

import jnvdocker.tests.world.Project;
import jnvdocker.tests.world.TestDaemon;

import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Libraries are loaded from the tree: none is unpacked to /tmp, which may be noexec. */
class TreeLibrariesTest extends OneHostTest {
    /** One that is unpacked has a name of its own, such as {@code jffi4711.tmp}. */
    private static final Pattern LIBRARY =
            Pattern.compile("(?m)/.*(?:jffi|jna|jnidispatch|sqlitejdbc)[^/\\n]*(?<!\\.jar)$");

    @Test
    void daemonUnpacksNone() throws IOException {
        try (TestDaemon daemon = new TestDaemon(host)) {
            daemon.jnvdocker("gpu", "ls").run().ok();
            Set<String> loaded = new TreeSet<>();
            Path maps = Path.of("/proc/" + daemon.pid().orElseThrow() + "/maps");
            Matcher library = LIBRARY.matcher(Files.readString(maps));
            while (library.find()) {
                Path file = Path.of(library.group());
                assertEquals(Project.tree().resolve("lib/native"), file.getParent().getParent());
                loaded.add(file.getFileName().toString());
            }
            assertEquals(Set.of("libjffi-1.2.so", "libjnidispatch.so", "libsqlitejdbc.so"), loaded);
        }
    }
}
