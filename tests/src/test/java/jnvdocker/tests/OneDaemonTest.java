package jnvdocker.tests;

import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.TestDaemon;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** A host and its daemon, for all tests of a class; no engine. */
abstract class OneDaemonTest extends OneHostTest {
    static TestDaemon daemon;

    @BeforeAll
    static void startDaemon() {
        daemon = new TestDaemon(host);
        daemon.jnvdocker("gpu", "ls").run().ok();
    }

    @AfterAll
    static void stopDaemon() {
        daemon.close();
    }

    static void program(Path file, String script) throws IOException {
        Files.createDirectories(file.getParent());
        Files.writeString(file, "#!/bin/sh\n" + script + "\n");
        Command.of("chmod", "755", file).run().ok();
    }
}
