package jnvdocker.protocol;

/**
 * How a program ended that the client ran for us.
 *
 * @param exitCode 128 and the signal's number for one that a signal ended
 * @param output its standard output, empty when it was not captured
 */
public record CallResult(int exitCode, String output) {
    public boolean succeeded() {
        return exitCode == 0;
    }
}
