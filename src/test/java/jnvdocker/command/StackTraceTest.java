package jnvdocker.command;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.attack.Attack;

import org.junit.jupiter.api.Test;

import picocli.CommandLine;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.ArrayList;
import java.util.List;

/** Whatever fails in a command, its user reads a line, and no stack trace. */
@Attack(
        by = "any user",
        what = "gives a command words that nobody has foreseen",
        result =
                "one line with a reference, under which the daemon's log has all of it; no stack"
                        + " trace")
class StackTraceTest {
    private static final List<List<String>> ODD =
            List.of(
                    List.of(),
                    List.of(""),
                    List.of("x"),
                    List.of("0"),
                    List.of("-1"),
                    List.of("\u0000\u001b[2J"),
                    List.of("99999999999999999999"),
                    List.of("x", "--for", "-1h"),
                    List.of("1", "--from", "25:99"),
                    List.of("--from", "yesterday", "--for", "1h"),
                    List.of("--since", "\ud800"),
                    List.of("--until", "0000-00-00"),
                    List.of("--json", "-n", "2147483648"),
                    List.of("x".repeat(100_000)));

    /** The commands have no daemon behind them, so that nearly all fail by a null. */
    @Test
    void noCommandPrintsOne() {
        int unforeseen = 0;
        for (String group : CommandGroups.ALL.keySet()) {
            for (String command : command(group).getSubcommands().keySet()) {
                for (List<String> odd : ODD) {
                    List<String> words = new ArrayList<>(List.of(command));
                    words.addAll(odd);
                    String said = execute(group, words);
                    assertFalse(said.contains("\tat "), () -> group + " " + words + ": " + said);
                    assertFalse(
                            said.contains("Exception"), () -> group + " " + words + ": " + said);
                    unforeseen += said.contains("jnvdocker: internal error ") ? 1 : 0;
                }
            }
        }
        assertTrue(unforeseen > 20, "failures: " + unforeseen);
    }

    private static CommandLine command(String group) {
        return CommandGroups.ALL.get(group).commands(CommandGroups.REQUEST, null);
    }

    private static String execute(String group, List<String> words) {
        StringWriter said = new StringWriter();
        PrintWriter writer = new PrintWriter(said, true);
        command(group).setOut(writer).setErr(writer).execute(words.toArray(String[]::new));
        return said.toString();
    }
}
