package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;

import jnvdocker.command.gpu.JsonSchemas;
import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.Lab;
import jnvdocker.tests.world.Terminal;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.io.BufferedReader;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** The output of {@code --watch}, in a terminal and elsewhere, and the queue. */
class WatchTest extends OneEngineTest {
    /** The reason is known once the queue has been checked. */
    private static final String OTHERS_PASS =
            "( +others are served first: \\S+ already holds GPU 1)?";

    private static final char CTRL_C = 3;
    private static final String GREEN = "\u001b[32mFREE\u001b[0m";

    private final List<Process> started = new ArrayList<>();

    @AfterEach
    void endWhatWasStarted() throws InterruptedException {
        for (Process process : started) {
            process.destroy();
            process.waitFor();
        }
    }

    private static Command gpu(Object... arguments) {
        List<Object> words = new ArrayList<>(List.of("gpu"));
        words.addAll(Arrays.asList(arguments));
        return lab.daemon().jnvdocker(words.toArray()).with("TERM", "xterm").with("NO_COLOR", "");
    }

    private static String title(String command) {
        return "^every 1s: jnvdocker gpu " + command + "   \\S+, \\d\\d:\\d\\d:\\d\\d$";
    }

    @Test
    void screenFollowsGpusWidthAndDaemonUntilItIsInterrupted() throws Exception {
        try (Terminal terminal = new Terminal(gpu("ls", "--watch=1"), 120, 24)) {
            terminal.awaitLine("^1     GPU-5c1a1003   A100-SXM4-40GB   FREE    -");
            lab.run("train", 1);
            terminal.awaitLine("^1     GPU-5c1a1003   A100-SXM4-40GB   HELD .* train ");
            assertTrue(terminal.screen().getFirst().matches(title("ls")), terminal::written);
            assertEquals(7, terminal.screen().size());
            terminal.resize(70);
            terminal.awaitLine("^1     GPU-5c1a1003   A100.*… +HELD .* train ");
            lab.daemon().stop();
            Lab.await(() ->
                    terminal.written().contains("jnvdocker: the daemon went away; the request is")
                            ? List.of()
                            : List.of("it does not say that the daemon is gone"));
            lab.docker("rm", "-f", "train").ok();
            lab.startDaemon();
            terminal.awaitLine("^1     GPU-5c1a1003   A100.*…   FREE");
            assertEquals(1, terminal.written().split("the daemon went away", -1).length - 1);
            terminal.type(CTRL_C);
            assertEquals(130, terminal.exitCode());
        }
    }

    @Test
    void screenIsNoHigherThanTheTerminal() {
        try (Terminal terminal = new Terminal(gpu("ls", "--watch=1s"), 120, 6)) {
            terminal.awaitLine("^… 3 more$");
            assertEquals(5, terminal.screen().size(), terminal::written);
        }
    }

    @Test
    void elsewhereTheTableComesAgainBelowAnEmptyLine() throws Exception {
        Process process = gpu("leases", "--watch=1").start();
        started.add(process);
        BufferedReader out = process.inputReader();
        String title = "LEASE   CLAIM   USER   CONTAINER   GPUS   STATE   SINCE   AGE   NOTE";
        assertEquals(
                List.of(title, "", title), List.of(out.readLine(), out.readLine(), out.readLine()));
    }

    @Test
    void documentsAreALineEach() throws Exception {
        Process process = gpu("ls", "--watch=1", "--json").start();
        started.add(process);
        for (int i = 0; i < 2; i++) {
            String line = process.inputReader().readLine();
            JsonSchemas.check("gpu-ls", line);
            JsonNode gpus = new ObjectMapper().readTree(line);
            assertEquals(4, gpus.findValuesAsText("uuid").size());
        }
    }

    @ParameterizedTest
    @CsvSource(
            quoteCharacter = '"',
            value = {
                "0, '0s' is not between 1s and 1h",
                "3601, '3601s' is not between 1s and 1h",
                "2h, '2h' is not between 1s and 1h",
                "-1, '-1' is not a duration",
                "1.5, '1.5' is not a duration",
                "x, 'x' is not a duration",
                "\"\", '' is not a duration",
                "99999999999, '99999999999s' is not a duration"
            })
    void otherIntervalsAreWrongUsage(String interval, String message) {
        Command.Result result = gpu("ls", "--watch=" + interval).run();
        assertEquals(2, result.exitCode(), result::toString);
        assertEquals("", result.out());
        assertTrue(result.err().contains(": " + message), result::toString);
    }

    /** Help and invalid requests are not repeated. */
    @Test
    void whatIsNotShownIsNotShownAgain() {
        assertEquals(0, gpu("ls", "--watch=1", "--help").run().exitCode());
        assertEquals(2, gpu("leases", "--watch=1", "-n", "3").run().exitCode());
    }

    @Test
    void statesHaveColoursInATerminalOnly() throws Exception {
        assertFalse(gpu("ls").run().ok().out().contains("\u001b"));
        assertTrue(inATerminal(gpu("ls")).contains(GREEN));
        assertFalse(inATerminal(gpu("ls").with("NO_COLOR", "1")).contains("\u001b"));
        assertFalse(inATerminal(gpu("ls").with("TERM", "dumb")).contains("\u001b"));
        assertFalse(inATerminal(gpu("ls", "--json")).contains("\u001b"));
        assertFalse(inATerminal(gpu("ls", "--help")).contains("\u001b"));
    }

    private static String inATerminal(Command command) throws InterruptedException {
        try (Terminal terminal = new Terminal(command, 100, 24)) {
            assertEquals(0, terminal.exitCode(), terminal::written);
            Lab.await(() -> terminal.written().isEmpty() ? List.of("nothing yet") : List.of());
            return terminal.written();
        }
    }

    @Test
    void tableFitsTheTerminalAndAFileHasAllOfIt() throws Exception {
        lab.run("a-container-with-a-name-that-is-rather-long", 0);
        assertTrue(gpu("ls").run().ok().out().contains("-that-is-rather-long "));
        try (Terminal terminal = new Terminal(gpu("ls").with("TERM", "dumb"), 80, 24)) {
            assertEquals(0, terminal.exitCode());
            Lab.await(() ->
                    terminal.written().contains("GPU-5c1a3009")
                            ? List.of()
                            : List.of(terminal.written()));
            assertTrue(
                    terminal.written().lines().allMatch(line -> line.length() <= 80),
                    terminal::written);
            assertTrue(
                    terminal.written().matches("(?s).* a-container-[a-z-]*…  .*"),
                    terminal::written);
        }
    }

    /** In the locale C, other characters would be garbled. */
    @Test
    void whoReadsAsciiAloneSeesNothingElse() throws Exception {
        String reason = "der Lüfter ist laut, der Techniker kommt am Freitag";
        lab.run("a-container-with-a-name-that-is-rather-long", 0);
        lab.jnvdocker("gpu", "cordon", "2", "--reason", reason).ok();
        assertTrue(gpu("ls").run().ok().out().contains(" (" + reason + ")\n"));
        String note = " (der L\\u{fc}fter ist laut, der Techniker kommt am Freitag)\n";
        for (String variable : List.of("LC_ALL", "LC_CTYPE", "LANG")) {
            Command inC = gpu("ls").with("LC_ALL", "").with(variable, "C");
            assertTrue(ascii(inC.run().ok().out()).contains(note), variable);
        }
        Command.Result refusal = gpu("why", "Gerät").with("LC_ALL", "C").run();
        assertTrue(ascii(refusal.err()).contains("is called 'Ger\\u{e4}t'; "), refusal::err);
        Command.Result usage = gpu("run", "--help").with("LC_ALL", "C").run();
        assertTrue(ascii(usage.out()).contains(" COMMAND...\n"), usage::out);
        Command inC = gpu("ls").with("LC_ALL", "C").with("TERM", "dumb");
        try (Terminal terminal = new Terminal(inC, 80, 24)) {
            assertEquals(0, terminal.exitCode());
            Lab.await(() ->
                    terminal.written().contains("GPU-5c1a3009")
                            ? List.of()
                            : List.of(terminal.written()));
            String table = ascii(terminal.written().replace("\r", ""));
            assertTrue(table.lines().allMatch(line -> line.length() <= 80), table);
            assertTrue(table.matches("(?s).* a-container-[a-z-]*\\.\\.\\.  .*"), table);
            assertTrue(
                    table.matches(
                            "(?s).*\n2     GPU-5c1a2006 [^\n]* CORDONED [^\n]*\n"
                                    + "      cordoned by root since [^\n]*fter ist laut, der"
                                    + " Techniker\n      kommt am Freitag\\)\n.*"),
                    table);
        } finally {
            lab.jnvdocker("gpu", "uncordon", "2").ok();
        }
    }

    private static String ascii(String text) {
        assertTrue(text.chars().allMatch(character -> character < 0x80), text);
        return text;
    }

    @Test
    void lineOfThoseWhoWaitIsShownInItsOrder() throws Exception {
        assertEquals("nobody waits for GPUs\n", gpu("queue").run().ok().out());
        assertEquals("[ ]\n", gpu("queue", "--json").run().ok().out());
        lab.run("train", 1);
        Process all = waiting("all", 1);
        Process one = waiting("device=1", 2);
        List<String> lines = gpu("queue").run().ok().out().lines().toList();
        assertEquals(
                "PLACE   USER   REQUEST   FOR   SINCE   AGE   PID   NOTE",
                lines.getFirst().replaceAll(" {3,}", "   "));
        assertTrue(
                lines.get(1)
                        .matches(
                                "1 +\\S+ +all GPUs +plain +\\d\\d:\\d\\d +\\d+s +"
                                        + all.pid()
                                        + OTHERS_PASS),
                lines::toString);
        assertTrue(
                lines.get(2)
                        .matches(
                                "2 +\\S+ +GPU 1 +plain +\\d\\d:\\d\\d +\\d+s +"
                                        + one.pid()
                                        + OTHERS_PASS),
                lines::toString);
        String shown = gpu("ls").run().ok().out();
        assertTrue(shown.endsWith("\n2 clients wait for GPUs: jnvdocker gpu queue\n"), shown);
        JsonNode queue = new ObjectMapper().readTree(gpu("queue", "--json").run().ok().out());
        assertEquals(one.pid(), queue.path(1).path("pid").asLong());
        assertEquals("[\"1\"]", queue.path(1).path("gpus").toString());
        assertTrue(queue.path(0).path("gpus").isNull());
        lab.docker("rm", "-f", "train").ok();
        assertEquals(0, all.waitFor());
        assertEquals(0, one.waitFor());
        assertEquals("nobody waits for GPUs\n", gpu("queue").run().ok().out());
    }

    /** Returns once the client has its place in the queue. */
    private Process waiting(String gpus, int place) {
        Process process =
                lab.daemon()
                        .jnvdocker("run", "--rm", "--gpus", gpus, "--gpu-wait", "plain", "true")
                        .start();
        started.add(process);
        Lab.await(() ->
                lab.registry().tickets() == place ? List.of() : List.of(gpus + " has no place"));
        return process;
    }
}
