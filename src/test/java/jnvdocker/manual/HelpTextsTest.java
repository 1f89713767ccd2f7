package jnvdocker.manual;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

import picocli.CommandLine.Model.ArgSpec;

import java.util.List;
import java.util.Map;
import java.util.Set;

class HelpTextsTest {
    private static final Map<String, String> TEXTS = HelpTexts.all();

    @Test
    void everyCommandHasATextOfUsualWidth() {
        ManPages.groups()
                .forEach((name, group) -> {
                    assertTrue(TEXTS.get(name).startsWith("Usage: jnvdocker " + name + " "), name);
                    Set<String> commands = group.getSubcommands().keySet();
                    commands.forEach(command -> {
                        String text = TEXTS.get(name + "-" + command);
                        assertTrue(text.startsWith("Usage: jnvdocker " + name + " "), command);
                    });
                });
        TEXTS.forEach((name, text) -> {
            if (!name.equals("run")) {
                text.lines()
                        .filter(line -> !line.startsWith("Usage: "))
                        .forEach(line -> assertTrue(line.length() <= HelpTexts.COLUMNS, line));
            }
        });
    }

    /** Picocli would break lines at the colon of {@code 18:00}. */
    @Test
    void noWordIsOnTwoLines() {
        ManPages.groups()
                .forEach((group, commands) ->
                        commands.getSubcommands()
                                .forEach((name, command) -> {
                                    String text = TEXTS.get(group + "-" + name);
                                    Set<String> words = Set.copyOf(List.of(text.split("\\s+")));
                                    for (ArgSpec argument : command.getCommandSpec().args()) {
                                        for (String line : argument.description()) {
                                            for (String word : line.strip().split("\\s+")) {
                                                assertTrue(
                                                        words.contains(word), word + " in " + text);
                                            }
                                        }
                                    }
                                }));
    }

    /** The client searches the texts for them, to know what another program's words are. */
    @Test
    void optionsWithValuesAreSpelledWithAnEqualsSign() {
        String run = TEXTS.get("gpu-run");
        assertTrue(run.contains("--gpus=GPUS") && run.contains("--gpu-time=DURATION"), run);
        assertEquals(-1, run.indexOf("--help="), run);
    }
}
