package jnvdocker.protocol;

/**
 * The result of a program that the client ran for us.
 *
 * @param exitCode 128 and the signal's number if a signal ended it
 * @param output its standard output, empty when it was not captured
 */
public record CallResult(int exitCode, String output) {
    public boolean succeeded() {
        return exitCode == 0;
    }
}
