package jnvdocker.protocol;

import java.util.Arrays;

/** The client's exit codes when it does not become docker. */
public enum ExitCode {
    OK(0),
    /** A check has found something wrong. */
    WRONG(1),
    /** Wrong usage of our own commands. */
    USAGE(2),
    /** Our refusal or failure; docker's own code for them. The C client has it too. */
    REFUSED(125);

    private final int code;

    ExitCode(int code) {
        this.code = code;
    }

    public int code() {
        return code;
    }

    /**
     * Returns what a number means.
     *
     * @throws IllegalArgumentException when it means nothing here
     */
    public static ExitCode of(int code) {
        return Arrays.stream(values())
                .filter(it -> it.code == code)
                .findFirst()
                .orElseThrow(() -> new IllegalArgumentException("no exit code: " + code));
    }
}
