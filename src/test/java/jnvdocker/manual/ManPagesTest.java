package jnvdocker.manual;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.command.start.RunHelp;
import jnvdocker.protocol.ExitCode;

import org.junit.jupiter.api.Test;

import picocli.CommandLine;
import picocli.CommandLine.Model.OptionSpec;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

class ManPagesTest {
    private static final Path MANUAL = Path.of("site/markdown");

    private static Map<String, String> pages() throws IOException {
        return new ManPages(MANUAL, "1.2.3").all();
    }

    private static void assertSays(String page, String text, String of) {
        assertTrue(text.contains(Roff.escape(of)), () -> of + " is not in " + page);
    }

    @Test
    void everyOptionOfEachCommandIsInItsPage() throws IOException {
        Map<String, String> pages = pages();
        for (Map.Entry<String, CommandLine> group : ManPages.groups().entrySet()) {
            for (CommandLine command : ManPages.commands(group.getValue())) {
                String own = "jnvdocker-" + group.getKey() + "-" + command.getCommandName() + ".1";
                String page = pages.containsKey(own) ? own : "jnvdocker-" + group.getKey() + ".1";
                for (OptionSpec option : command.getCommandSpec().options()) {
                    for (String name : option.names()) {
                        assertSays(page, pages.get(page), name);
                    }
                    assertSays(page, pages.get(page), String.join(" ", option.description()));
                }
                assertSays(
                        "jnvdocker.1",
                        pages.get("jnvdocker.1"),
                        group.getKey() + " " + command.getCommandName());
            }
        }
        for (String option : RunHelp.options().keySet()) {
            assertSays("jnvdocker.1", pages.get("jnvdocker.1"), option);
        }
    }

    @Test
    void everyPageHasTheUsualSections() throws IOException {
        for (Map.Entry<String, String> page : pages().entrySet()) {
            List<String> usual = new ArrayList<>(List.of("NAME", "SYNOPSIS", "DESCRIPTION"));
            if (!page.getKey().endsWith(".5")) {
                usual.addAll(List.of("OPTIONS", "EXIT STATUS"));
            }
            usual.add("SEE ALSO");
            List<String> headings =
                    page.getValue()
                            .lines()
                            .filter(line -> line.startsWith(".SH "))
                            .map(line -> line.substring(".SH ".length()).replace("\"", ""))
                            .filter(usual::contains)
                            .toList();
            assertEquals(usual, headings, page.getKey());
        }
    }

    @Test
    void everyExitCodeIsExplained() throws IOException {
        Map<String, String> pages = pages();
        for (ExitCode code : ExitCode.values()) {
            String page = code == ExitCode.OK ? "jnvdocker-gpu-ls.1" : "jnvdocker.1";
            String status = pages.get(page).split("\\.SH \"EXIT STATUS\"", 2)[1];
            assertTrue(status.contains(".TP\n" + code.code() + "\n"), code + " in " + status);
        }
        assertTrue(pages.get("jnvdocker-gpu-needs.1").contains("does not have what the image"));
        assertTrue(!pages.get("jnvdocker-gpu-ls.1").contains("does not have what the image"));
    }

    @Test
    void nothingIsTakenForARequest() {
        assertEquals(
                "\\&.TH \\e \\-x\n",
                new Roff("a", 1, "1")
                        .line(".TH " + Roff.escape("\\ -x"))
                        .toString()
                        .replaceFirst("(?s).*\\.nh\n", ""));
        assertEquals("\\[u2026]", Roff.escape("…"));
    }
}
