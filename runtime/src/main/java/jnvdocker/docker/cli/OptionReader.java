package jnvdocker.docker.cli;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * Reads options as docker does, that is spf13/pflag with interspersed arguments off (its flag.go).
 * It differs from getopt: {@code -e=A} means {@code -e A}, {@code -it=false} gives the last letter
 * a value, and {@code -e=} has the value {@code =}.
 */
final class OptionReader {
    private final List<String> argv;
    private final KnownOptions known;
    private final List<TypedOption> options = new ArrayList<>();
    private int next;

    OptionReader(List<String> argv, int start, KnownOptions known) {
        this.argv = argv;
        this.next = start;
        this.known = known;
    }

    /** Empty where docker would print an error: for an unknown option, or one without its value. */
    Optional<TypedOptions> read() throws IOException {
        while (next < argv.size() && isOption(argv.get(next))) {
            String argument = argv.get(next);
            if (argument.equals("--")) {
                return Optional.of(new TypedOptions(options, next, next + 1));
            }
            if (!(argument.startsWith("--") ? readLong(argument) : readLetters(argument))) {
                return Optional.empty();
            }
        }
        return Optional.of(new TypedOptions(options, next, next));
    }

    /** The options that could be read, also when one behind them could not. */
    List<TypedOption> options() {
        return options;
    }

    /** A lone dash is an operand, and so is an empty argument. */
    private static boolean isOption(String argument) {
        return argument.startsWith("-") && argument.length() > 1;
    }

    private boolean readLong(String argument) throws IOException {
        int equals = argument.indexOf('=');
        String name = argument.substring(2, equals < 0 ? argument.length() : Math.max(2, equals));
        Optional<DockerOption> option = isName(name) ? known.named(name) : Optional.empty();
        if (option.isEmpty()) {
            return false;
        }
        if (equals >= 0) {
            return add(option.get(), argument.substring(equals + 1), 1);
        }
        return needsValue(option.get()) ? addWithNext(option.get()) : add(option.get(), "true", 1);
    }

    private static boolean isName(String name) {
        return !name.isEmpty() && !name.startsWith("-");
    }

    private boolean readLetters(String argument) throws IOException {
        int start = next;
        for (int at = 1; at < argument.length() && next == start; at++) {
            Optional<DockerOption> option = known.lettered(argument.charAt(at));
            if (option.isEmpty() || !readLetter(option.get(), argument.substring(at + 1))) {
                return false;
            }
        }
        return true;
    }

    /** Moves on to the next argument unless more letters follow in this one. */
    private boolean readLetter(DockerOption option, String rest) {
        if (rest.length() > 1 && rest.startsWith("=")) {
            return add(option, rest.substring(1), 1);
        }
        if (!needsValue(option)) {
            return add(option, "true", rest.isEmpty() ? 1 : 0);
        }
        return rest.isEmpty() ? addWithNext(option) : add(option, rest, 1);
    }

    private static boolean needsValue(DockerOption option) {
        return option.value() == DockerOption.Value.REQUIRED;
    }

    private boolean addWithNext(DockerOption option) {
        return next + 1 < argv.size() && add(option, argv.get(next + 1), 2);
    }

    private boolean add(DockerOption option, String value, int arguments) {
        TypedOption typed = new TypedOption(option, value, next, next + Math.max(1, arguments));
        options.add(typed);
        next += arguments;
        return option.value() != DockerOption.Value.BOOLEAN || typed.truth().isPresent();
    }
}
