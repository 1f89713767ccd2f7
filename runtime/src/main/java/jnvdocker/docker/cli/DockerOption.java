package jnvdocker.docker.cli;

/**
 * One of docker's options.
 *
 * @param name the long name, without dashes
 * @param letter the short name, or {@link #NO_LETTER}
 */
record DockerOption(String name, char letter, Value value) {
    static final char NO_LETTER = '\0';

    /** The argument after the name. */
    enum Value {
        /** Nothing, or {@code =true}, {@code =0} and the like. */
        BOOLEAN,
        /** Nothing, or something after {@code =}. */
        OPTIONAL,
        /** Always something, after {@code =} or as the next argument. */
        REQUIRED
    }
}
