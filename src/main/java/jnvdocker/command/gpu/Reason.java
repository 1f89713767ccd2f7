package jnvdocker.command.gpu;

import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;

/** Why somebody does something, in a few words that others are told: {@code --reason}. */
final class Reason {
    static final int LONGEST = 80;

    private Reason() {}

    /**
     * @throws ParameterException when there are too many
     */
    static void check(String reason, CommandSpec spec) {
        if (reason.strip().codePoints().count() > LONGEST) {
            throw new ParameterException(
                    spec.commandLine(), "--reason is longer than " + LONGEST + " characters");
        }
    }
}
