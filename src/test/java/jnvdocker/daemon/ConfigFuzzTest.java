package jnvdocker.daemon;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.config.StartException;
import jnvdocker.labels.Mutations;

import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.Tuple;

import java.nio.file.Path;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** Any text is either a policy or refused in words, naming the place. */
class ConfigFuzzTest {
    private static final Path FILE = TestingConfig.FILE;
    private static final int LONGEST_MESSAGE = 1_000;
    private static final Pattern OF_A_PROGRAMMER =
            Pattern.compile("(?s).*\\b(([A-Z][a-z]+){2,}|[a-z]+(\\.[a-z]+)+\\.[A-Z]).*");

    @Property(tries = 4_000, seed = "14")
    void damagedFilesAreReadOrRefused(@ForAll("damaged") String text) {
        assertReadOrRefused(text);
    }

    @Provide
    Arbitrary<String> damaged() {
        return Mutations.ofTexts(
                """
                # The lab's policy
                default_gpus = "none" # nobody gets one unasked
                allow_privileged = true

                socket_group = 'gpu'
                keep_history = "90d"
                """,
                "default_gpus = 'device=0,GPU-8a56a4bc'\r\nallow_privileged=false\r\n",
                "socket_group = \"\"\"\nlab\\u00e9\\t\"\"\"\n\"default_gpus\" = 2",
                "[a.'b']\nc = [1, 2.5e3, 0xff, inf]\n[[d]]\ne = {f = 1979-05-27T07:32:00Z}\n");
    }

    @Property(tries = 4_000, seed = "15")
    void filesOfAnyTokensAreReadOrRefused(@ForAll("written") String text) {
        assertReadOrRefused(text);
    }

    @Provide
    Arbitrary<String> written() {
        Arbitrary<String> line =
                Combinators.combine(keys(), values(), Arbitraries.of("", " # why", "\r", "  "))
                        .as((key, value, end) -> key + " = " + value + end);
        Arbitrary<String> table =
                Combinators.combine(
                                Arbitraries.of("[%s]", "[[%s]]", "[ %s . x]", "%s.y = 1", "[%s"),
                                keys())
                        .as(String::formatted);
        return Arbitraries.frequencyOf(Tuple.of(4, line), Tuple.of(1, table))
                .list()
                .ofMaxSize(6)
                .map(lines -> String.join("\n", lines));
    }

    private static Arbitrary<String> keys() {
        return Arbitraries.of(
                "default_gpus",
                "allow_privileged",
                "socket_group",
                "keep_history",
                "idle_warn",
                "'socket_group'",
                "\"allow_privileged\"",
                "\"\\u0061\"",
                "\"a\\nb\\u001b[2J\"",
                "''",
                "a",
                "a.b",
                "Default_GPUs",
                "\u00e9",
                "x".repeat(3_000),
                "default_gpus.x");
    }

    private static Arbitrary<String> values() {
        return Arbitraries.of(
                "'all'",
                "\"none\"",
                "'device=0,1'",
                "'400d'",
                "'30s'",
                "['0', 'GPU-5c1a1003']",
                "'forever'",
                "'" + "z".repeat(3_000) + "'",
                "\"a\\nb\\u001b[2J\\u202e\"",
                "\"\\ud800\"",
                "\"\\U00110000\"",
                "\"\"\"a\n\nb = 1\n\"\"\"",
                "'''\na'''",
                "true",
                "false",
                "yes",
                "2",
                "-1",
                "+0",
                "9".repeat(21),
                "9".repeat(2_000),
                "[".repeat(2_000),
                "1e" + "9".repeat(2_000),
                "1e999999999",
                "0x" + "f".repeat(2_000),
                "1_000",
                "0b2",
                "nan",
                "1979-05-27",
                "1979-13-45T99:99:99Z",
                "07:32:00.999999999999",
                "[]",
                "[1,\n2,\n]",
                "['0', '1']",
                "[[[[]]]]",
                "{}",
                "{a = 1, b = {c = []}}",
                "{a = 1,}",
                "");
    }

    @Property(tries = 2_000, seed = "16")
    void unknownKeyIsRefusedWithItsLine(
            @ForAll("sound") List<String> before, @ForAll("unknown") String line) {
        String lines = String.join("\n", Stream.concat(before.stream(), Stream.of(line)).toList());
        String message = refusal(lines + "\n# the end\n");
        String place = FILE + ":" + (before.size() + 1) + ": unknown key '";
        assertTrue(message.startsWith(place), () -> message + "\n" + lines);
    }

    @Provide
    Arbitrary<List<String>> sound() {
        return Arbitraries.of(
                        "default_gpus = 'none'",
                        "allow_privileged = false # limits = 2",
                        "socket_group = \"max_gpus = 1\"",
                        "# max_gpus = 1",
                        "#max_gpus.x = 1",
                        "")
                .list()
                .uniqueElements(text -> text.startsWith("#") ? new Object() : text)
                .ofMaxSize(5);
    }

    @Provide
    Arbitrary<String> unknown() {
        Arbitrary<String> form =
                Arbitraries.of(
                        "%s = 1",
                        "%s=[1]",
                        "  %s\t=\t'x' # why",
                        "\"%s\" = 1",
                        "'%s' = {}",
                        "%s.more = true",
                        "%s . more = 1",
                        "'%s'.more = 1",
                        "[%s]",
                        "[ %s ]",
                        "[[%s]]",
                        "[\"%s\"]",
                        "[%s.more]",
                        "%s = 1 # \u2028");
        Arbitrary<String> key =
                Arbitraries.oneOf(
                        Arbitraries.of("max_gpus", "limit", "default_gpu", "default-gpus", "true"),
                        Arbitraries.strings()
                                .withCharRange('a', 'z')
                                .withCharRange('A', 'Z')
                                .withChars("0123456789_-")
                                .ofMinLength(1)
                                .ofMaxLength(20));
        return Combinators.combine(form, key).as(String::formatted);
    }

    private static void assertReadOrRefused(String text) {
        try {
            TestingConfig.parse(text);
        } catch (StartException e) {
            assertReadable(e.getMessage());
        }
    }

    private static String refusal(String text) {
        String message =
                assertThrows(StartException.class, () -> TestingConfig.parse(text), text)
                        .getMessage();
        assertReadable(message);
        return message;
    }

    private static void assertReadable(String message) {
        assertTrue(
                message.matches("(?s)" + Pattern.quote(FILE.toString()) + "(:\\d+)?: .*"), message);
        assertTrue(message.length() < LONGEST_MESSAGE, message);
        assertTrue(message.chars().noneMatch(Character::isISOControl), message);
        String ours = message.replaceAll("'[^']*'", "");
        assertFalse(OF_A_PROGRAMMER.matcher(ours).matches(), message);
    }
}
