package jnvdocker.docker.cli;

import java.util.Optional;
import java.util.Set;

/**
 * An option as it was typed.
 *
 * @param value its value; {@code true} for a boolean that stands alone
 * @param from the index of its first argument in the command line
 * @param to the index after its last one; letters of a cluster share an argument
 */
record TypedOption(DockerOption option, String value, int from, int to) {
    // The words of Go's strconv.ParseBool.
    private static final Set<String> TRUE = Set.of("1", "t", "T", "TRUE", "true", "True");
    private static final Set<String> FALSE = Set.of("0", "f", "F", "FALSE", "false", "False");

    boolean is(String name) {
        return option.name().equals(name);
    }

    /** Empty for what docker takes for neither true nor false. */
    Optional<Boolean> truth() {
        return TRUE.contains(value)
                ? Optional.of(true)
                : FALSE.contains(value) ? Optional.of(false) : Optional.empty();
    }
}
