package jnvdocker.daemon;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.config.StartException;
import jnvdocker.lease.Allowance;
import jnvdocker.lease.Owner;
import jnvdocker.manual.ConfigTemplate;
import jnvdocker.request.GpuRequest;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;

/** The configuration as it is installed, and those among the examples. */
class ShippedConfigTest {
    private static final Path EXAMPLES = Path.of("dist/examples/config");

    /** A key that is commented out, below the comment that explains it. */
    private static final Pattern KEY = Pattern.compile("(?m)^((?:# .+\n)+)#(\\w+ = .+)$");

    private final String text = shipped();

    private static String shipped() {
        try {
            return ConfigTemplate.text(Path.of("site/markdown"));
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    private static String read(Path file) {
        try {
            return Files.readString(file);
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    private static Config parse(String text) throws StartException {
        return TestingConfig.parse(text);
    }

    private List<MatchResult> keys() {
        return KEY.matcher(text).results().toList();
    }

    @Test
    void changesNothing() throws StartException {
        assertEquals(parse(""), parse(text));
    }

    @Test
    void showsDefaults() throws StartException {
        int shown = 0;
        for (MatchResult key : keys()) {
            String changed = text.replace("#" + key.group(2), key.group(2));
            assertNotEquals(text, changed);
            if (key.group(1).contains("Without this key")) {
                assertNotEquals(parse(withClaims(text)), parse(withClaims(changed)), key.group(2));
            } else {
                assertEquals(parse(""), parse(changed), key.group(2));
                shown++;
            }
        }
        assertTrue(shown > 10, () -> "defaults shown: " + keys());
    }

    /** Some keys count only with resource claims. */
    private static String withClaims(String text) {
        return text.replace("#driver = \"device-plugin\"", "driver = \"dra\"");
    }

    @ParameterizedTest
    @ValueSource(strings = {"classroom", "workstation", "ci"})
    void exampleGivesOneGpuUnlessMoreAreRequested(String name) throws StartException {
        Config config = parse(read(EXAMPLES.resolve(name + ".toml")));
        assertEquals(new GpuRequest.Count(1), config.defaultGpus());
    }

    @Test
    void limitsOfTheExampleAreValid() throws StartException {
        String uncommented = text.replaceAll("(?m)^#([a-z\"*@]+ = \\{)", "$1");
        Allowance student =
                parse(uncommented).policy().limits().of(new Owner(1000, "bob"), Set.of("students"));
        assertEquals(1, student.gpus().orElseThrow().limit());
        assertEquals(Duration.ofHours(8), student.hold().orElseThrow().limit());
    }

    @Test
    void classroomLimitsEachStudent() throws StartException {
        Config config = parse(read(EXAMPLES.resolve("classroom.toml")));
        Allowance student = config.policy().limits().of(new Owner(1000, "alice"), Set.of());
        assertEquals(2, student.gpus().orElseThrow().limit());
        assertEquals(Duration.ofHours(8), student.waits().orElseThrow().limit());
        assertEquals(Optional.of(Duration.ofDays(210)), config.keepHistory());
    }
}
