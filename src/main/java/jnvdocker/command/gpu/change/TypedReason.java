package jnvdocker.command.gpu.change;

import jnvdocker.command.caller.OwnCommand;

import picocli.CommandLine.ParameterException;

/** The reason of an administrator's action, in a few words for other users: {@code --reason}. */
final class TypedReason {
    static final int LONGEST = 80;

    private TypedReason() {}

    /**
     * @throws ParameterException when it is too long
     */
    static void check(String reason, OwnCommand command) {
        if (reason.strip().codePoints().count() > LONGEST) {
            throw command.usage("--reason is longer than " + LONGEST + " characters");
        }
    }
}
