package jnvdocker.protocol;

import java.io.IOException;

/** Work that is done just before a client becomes a program. */
@FunctionalInterface
public interface BeforeProgram {
    /**
     * @throws IOException when the client must not become the program
     */
    void run() throws IOException;
}
