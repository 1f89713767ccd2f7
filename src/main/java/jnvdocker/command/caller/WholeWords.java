package jnvdocker.command.caller;

import picocli.CommandLine.Help;
import picocli.CommandLine.Help.Ansi.Text;
import picocli.CommandLine.Model.ArgSpec;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.Model.PositionalParamSpec;

import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** A help text whose arguments are described in lines that end with a word: not {@code 9:}. */
final class WholeWords extends Help {
    WholeWords(CommandSpec command, ColorScheme scheme) {
        super(command, scheme);
    }

    @Override
    public Layout createDefaultLayout(
            List<OptionSpec> options, List<PositionalParamSpec> parameters, ColorScheme scheme) {
        return new WholeLayout(super.createDefaultLayout(options, parameters, scheme));
    }

    /** Has letters stand for the punctuation in words, since picocli breaks lines there. */
    private static final class WholeLayout extends Layout {
        private static final Pattern PUNCTUATION = Pattern.compile("\\p{Punct}(?=\\S)");

        /** Letters that no description has, in the order of ASCII's characters. */
        private static final char FIRST = '\u1e00';

        private static final Pattern LETTER = Pattern.compile("[\u1e21-\u1e7e]");

        WholeLayout(Layout theirs) {
            super(
                    theirs.colorScheme(),
                    theirs.textTable(),
                    theirs.optionRenderer(),
                    theirs.parameterRenderer());
        }

        @Override
        public void layout(ArgSpec argument, Text[][] cells) {
            for (Text[] row : cells) {
                for (int i = 0; i < row.length; i++) {
                    row[i] = colorScheme().text(moved(row[i].toString(), PUNCTUATION, FIRST));
                }
            }
            super.layout(argument, cells);
        }

        @Override
        public String toString() {
            return moved(super.toString(), LETTER, -FIRST);
        }

        private static String moved(String text, Pattern each, int by) {
            return each.matcher(text)
                    .replaceAll(found ->
                            Matcher.quoteReplacement(
                                    Character.toString(found.group().charAt(0) + by)));
        }
    }
}
