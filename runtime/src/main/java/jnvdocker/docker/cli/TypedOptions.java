package jnvdocker.docker.cli;

import java.util.List;
import java.util.Optional;

/**
 * The options at one place of a command line.
 *
 * @param end the index where they end: of the first operand, or of the {@code --} before it
 * @param operands the index of the first operand, which may be the length of the command line
 */
record TypedOptions(List<TypedOption> options, int end, int operands) {
    TypedOptions {
        options = List.copyOf(options);
    }

    boolean endsWithDashes() {
        return end != operands;
    }

    List<String> values(String name) {
        return options.stream().filter(o -> o.is(name)).map(TypedOption::value).toList();
    }

    Optional<String> last(String name) {
        return lastTyped(name).map(TypedOption::value);
    }

    /** The last of several counts, as for docker. */
    boolean isSet(String name) {
        return lastTyped(name).flatMap(TypedOption::truth).orElse(false);
    }

    private Optional<TypedOption> lastTyped(String name) {
        return options.stream().filter(o -> o.is(name)).reduce((earlier, later) -> later);
    }
}
