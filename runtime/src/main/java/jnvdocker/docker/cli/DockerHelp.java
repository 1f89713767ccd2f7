package jnvdocker.docker.cli;

import java.io.IOException;

/**
 * The source of the options of a docker that is newer than our table. Queried at most once for a
 * command line, and only when that has an option which the table does not know.
 */
@FunctionalInterface
public interface DockerHelp {
    /**
     * The output of {@code docker run --help} or {@code docker create --help}; anything else, the
     * empty text included, teaches nothing and does no harm.
     */
    String text(Verb verb) throws IOException;
}
