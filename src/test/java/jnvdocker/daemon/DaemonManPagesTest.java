package jnvdocker.daemon;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.config.StartException;
import jnvdocker.manual.ManPages;
import jnvdocker.protocol.ExitCode;

import org.junit.jupiter.api.Test;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** The man pages of the configuration and the daemon, held to what reads the one and the other. */
class DaemonManPagesTest {
    private static final Pattern TERM = Pattern.compile("\\.TP\n(.+)\n");
    private static final Pattern KEY =
            Pattern.compile(
                    "\\.TP\n\\\\fB(\\w+)\\\\fR\n(?:(?!\\.TP).*\n)*?type: (\\w+(?: or \\w+)?)\n");

    /** The end of the refusal of a value of another type. */
    private static final Map<String, String> TYPES =
            Map.of(
                    "string", "write text in quotes",
                    "string or integer", "write text in quotes",
                    "integer", "write a whole number",
                    "boolean", "write true or false",
                    "array", "write a list");

    private static String section(String page, String heading) throws IOException {
        String text = new ManPages(Path.of("site/markdown"), "1").all().get(page);
        return text.split("\\.SH \"?" + heading + "\"?\n", 2)[1].split("\n\\.SH ", 2)[0] + "\n";
    }

    private static Set<String> terms(String page, String heading) throws IOException {
        return TERM.matcher(section(page, heading))
                .results()
                .map(term -> term.group(1).replaceAll("\\\\f.", "").replace("\\-", "-"))
                .collect(Collectors.toCollection(TreeSet::new));
    }

    private static String refusal(String text) {
        return assertThrows(StartException.class, () -> TestingConfig.parse(text), text)
                .getMessage();
    }

    /** The keys that the refusal of an unknown one names. */
    private static Set<String> known(String table) {
        String refusal = refusal(table + "other = 1\n");
        String list = refusal.substring(refusal.indexOf('[') + 1, refusal.lastIndexOf(']'));
        return new TreeSet<>(List.of(list.split(", ")));
    }

    @Test
    void everyKeyIsDescribedWithItsType() throws Exception {
        List<String> tables = List.of("runtime", "kubernetes", "mesos", "limits.alice");
        Map<String, List<String>> refusals = new TreeMap<>();
        for (String key : TestingConfig.keys()) {
            if (!tables.contains(key) && !key.equals("limits")) {
                refusals.put(key, List.of(refusal(key + " = [[1]]\n")));
            }
        }
        for (String table : tables) {
            String header = "[" + table + "]\n";
            for (String key : known(header)) {
                refusals.merge(
                        key,
                        List.of(refusal(header + key + " = [[1]]\n")),
                        (some, more) -> Stream.concat(some.stream(), more.stream()).toList());
            }
        }
        Map<String, List<String>> types = new TreeMap<>();
        KEY.matcher(section("jnvdocker.toml.5", "DESCRIPTION"))
                .results()
                .forEach(key ->
                        types.computeIfAbsent(key.group(1), _ -> new ArrayList<>())
                                .add(TYPES.get(key.group(2))));
        assertEquals(refusals.keySet(), types.keySet());
        // One name may be a key of several tables.
        refusals.forEach((key, each) -> {
            List<String> left = new ArrayList<>(types.get(key));
            for (String refusal : each) {
                Optional<String> its = left.stream().filter(refusal::contains).findFirst();
                assertTrue(its.isPresent(), refusal);
                left.remove(its.get());
            }
            assertEquals(List.of(), left, key);
        });
    }

    @Test
    void everyOptionAndExitCodeOfTheDaemonIsDescribed() throws IOException {
        ByteArrayOutputStream err = new ByteArrayOutputStream();
        int code =
                Main.run(
                        List.of("wrong"),
                        Map.of(),
                        System.out,
                        new PrintStream(err, true, StandardCharsets.UTF_8));
        assertEquals(ExitCode.USAGE.code(), code);
        Set<String> options =
                Pattern.compile("--[a-z-]+")
                        .matcher(err.toString(StandardCharsets.UTF_8))
                        .results()
                        .map(MatchResult::group)
                        .collect(Collectors.toCollection(TreeSet::new));
        assertTrue(options.size() > 1, options::toString);
        String described = String.join(", ", terms("jnvdockerd.8", "OPTIONS"));
        options.removeAll(List.of(described.split(", ")));
        assertEquals(Set.of(), options);
        // WRONG is that of checks, which the daemon is not.
        Set<String> codes = new TreeSet<>();
        for (ExitCode each : ExitCode.values()) {
            if (each != ExitCode.WRONG) {
                codes.add(Integer.toString(each.code()));
            }
        }
        assertEquals(codes, terms("jnvdockerd.8", "EXIT STATUS"));
    }
}
