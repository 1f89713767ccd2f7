package jnvdocker.command.complete;

import picocli.CommandLine;
import picocli.CommandLine.Model.ArgSpec;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.Model.PositionalParamSpec;

import java.io.IOException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * The words typed behind {@code gpu}, {@code runtime} or another group of our own commands, read as
 * picocli does.
 */
final class CommandWords {
    private final Values values;
    private CommandSpec command;
    private final List<String> operands = new ArrayList<>();
    private final Set<ArgSpec> given = new HashSet<>();
    private OptionSpec waiting; // an option that takes the next word; null if none does
    private boolean optionsEnded;

    /** The number of the word with which a program's own command line begins. */
    private Optional<Integer> program = Optional.empty();

    private int number; // of the word to be completed

    CommandWords(CommandSpec group, Values values) {
        this.command = group;
        this.values = values;
    }

    /**
     * @param first the number of the first of these words in the whole command line
     * @return whether picocli would read them so far
     */
    boolean read(List<String> words, int first) {
        for (int i = 0; i < words.size() && program.isEmpty(); i++) {
            if (!read(words.get(i))) {
                return false;
            }
            if (command.parser().stopAtPositional() && !operands.isEmpty()) {
                program = Optional.of(first + i);
            }
        }
        number = first + words.size();
        return true;
    }

    private boolean read(String word) {
        if (waiting != null) {
            waiting = null;
        } else if (optionsEnded || !word.startsWith("-") || word.equals("-")) {
            return operand(word);
        } else if (word.equals("--")) {
            optionsEnded = true;
        } else {
            int equals = word.indexOf('=');
            OptionSpec option = command.findOption(equals < 0 ? word : word.substring(0, equals));
            if (option == null) {
                return false;
            }
            given.add(option);
            waiting = equals < 0 && option.arity().min() > 0 ? option : null;
        }
        return true;
    }

    private boolean operand(String word) {
        if (command.subcommands().isEmpty()) {
            operands.add(word);
            return true;
        }
        CommandLine next = command.subcommands().get(word);
        if (next != null) {
            command = next.getCommandSpec();
        }
        return next != null;
    }

    /** Answers for the word behind those that were read. */
    void complete(String typed, Answer answer) throws IOException {
        int equals = typed.indexOf('=');
        if (waiting != null) {
            values.add(waiting.paramLabel(), typed, "", List.of(), answer);
        } else if (program.isPresent()) {
            answer.way(Answer.COMMAND + " " + program.get());
        } else if (!optionsEnded && typed.startsWith("--") && equals > 0) {
            OptionSpec option = command.findOption(typed.substring(0, equals));
            if (option != null) {
                String before = typed.substring(0, equals + 1);
                values.add(
                        option.paramLabel(),
                        typed.substring(equals + 1),
                        before,
                        List.of(),
                        answer);
            }
        } else if (!optionsEnded && typed.startsWith("-")) {
            options(answer);
        } else if (!command.subcommands().isEmpty()) {
            commands(command, answer);
        } else {
            operand(typed, answer);
        }
    }

    private void operand(String typed, Answer answer) throws IOException {
        Optional<PositionalParamSpec> next =
                command.positionalParameters().stream()
                        .filter(each -> each.index().contains(operands.size()))
                        .filter(each -> each.arity().max() > 1 || operands.isEmpty())
                        .findFirst();
        if (next.isEmpty()) {
            if (!optionsEnded) {
                options(answer);
            }
        } else if (command.parser().stopAtPositional()) {
            answer.way(Answer.COMMAND + " " + number);
        } else if (next.get().paramLabel().equals(Values.COMMAND)) {
            commands(command.parent(), answer);
        } else {
            values.add(next.get().paramLabel(), typed, "", operands, answer);
        }
    }

    private void options(Answer answer) {
        for (OptionSpec option : command.options()) {
            if (!option.hidden() && !given.contains(option)) {
                answer.add(longest(option), description(option.description()));
            }
        }
    }

    private static String longest(OptionSpec option) {
        return option.names()[0].startsWith("--") ? option.names()[0] : option.longestName();
    }

    private static void commands(CommandSpec group, Answer answer) {
        group.subcommands()
                .forEach((name, each) -> {
                    CommandSpec spec = each.getCommandSpec();
                    // An alias is only another word for the same.
                    if (!spec.usageMessage().hidden() && name.equals(spec.name())) {
                        answer.add(name, description(spec.usageMessage().description()));
                    }
                });
    }

    /** The first sentence, without its period. */
    static String description(String... lines) {
        String text = String.join(" ", lines);
        int end = text.indexOf(". ");
        return (end < 0 ? text : text.substring(0, end)).replaceAll("[.:]$", "");
    }
}
