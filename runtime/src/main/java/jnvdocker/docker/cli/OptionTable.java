package jnvdocker.docker.cli;

import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Options by name and letter, learned from what a command's {@code --help} prints. */
final class OptionTable {
    private static final int LONGEST_TEXT = 1 << 18;

    /**
     * A line of pflag's usage text: {@code " -e, --env list Set environment variables"}. Lines that
     * go on with a description are indented deeper, and may begin with a dash too. Two blanks part
     * the type from the description; a boolean has no type.
     */
    private static final Pattern LINE =
            Pattern.compile(
                    "(?: {2}-([!-,.-~]), | {6})--([A-Za-z0-9][A-Za-z0-9._-]{0,63})"
                            + "(?:(\\[=\\S{0,64})| ([^ \\[]{1,64})(\\[=\\S{0,64})?)?(?: {2}.*| *)");

    private final Map<String, DockerOption> byName = new LinkedHashMap<>();
    private final Map<Character, DockerOption> byLetter = new LinkedHashMap<>();

    private OptionTable() {}

    /** Lines that describe no option are passed over. */
    static OptionTable parse(String help) {
        OptionTable table = new OptionTable();
        help.substring(0, Math.min(help.length(), LONGEST_TEXT))
                .lines()
                .map(LINE::matcher)
                .filter(Matcher::matches)
                .map(OptionTable::option)
                .forEach(table::add);
        return table;
    }

    private static DockerOption option(Matcher line) {
        char letter = line.group(1) == null ? DockerOption.NO_LETTER : line.group(1).charAt(0);
        boolean optional = line.group(3) != null || line.group(5) != null;
        DockerOption.Value value =
                optional
                        ? DockerOption.Value.OPTIONAL
                        : line.group(4) == null
                                ? DockerOption.Value.BOOLEAN
                                : DockerOption.Value.REQUIRED;
        return new DockerOption(line.group(2), letter, value);
    }

    private void add(DockerOption option) {
        byName.putIfAbsent(option.name(), option);
        if (option.letter() != DockerOption.NO_LETTER) {
            byLetter.putIfAbsent(option.letter(), option);
        }
    }

    Optional<DockerOption> named(String name) {
        return Optional.ofNullable(byName.get(name));
    }

    Optional<DockerOption> lettered(char letter) {
        return Optional.ofNullable(byLetter.get(letter));
    }

    Collection<DockerOption> options() {
        return byName.values();
    }
}
