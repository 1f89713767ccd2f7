package jnvdocker.manual;

import jnvdocker.command.start.RunHelp;

import picocli.CommandLine;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;

/**
 * Writes the help texts that the client prints where no daemon runs, for any terminal of usual
 * width.
 */
public final class HelpTexts {
    static final int COLUMNS = 80;

    private HelpTexts() {}

    /**
     * @param args the directory that gets the texts
     */
    public static void main(String[] args) throws IOException {
        Path target = Files.createDirectories(Path.of(args[0]));
        for (Map.Entry<String, String> text : all().entrySet()) {
            Files.writeString(
                    target.resolve(text.getKey()), text.getValue(), StandardCharsets.US_ASCII);
        }
    }

    /** All texts, by the words of the command: {@code gpu-why}; {@code run} is for docker's. */
    static Map<String, String> all() {
        Map<String, String> texts = new TreeMap<>(Map.of("run", RunHelp.TEXT));
        ManPages.groups()
                .forEach((name, group) -> {
                    group.setUsageHelpWidth(COLUMNS);
                    texts.put(name, text(group));
                    for (Map.Entry<String, CommandLine> command :
                            group.getSubcommands().entrySet()) {
                        texts.put(name + "-" + command.getKey(), text(command.getValue()));
                    }
                });
        return texts;
    }

    private static String text(CommandLine command) {
        return command.getUsageMessage().replace("\u2026", "...");
    }
}
