package jnvdocker.core;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.nio.file.Files;
import java.nio.file.Path;

/** A failure of a model is kept with its steps and its state. */
class KeptFailureTest {
    @Test
    void stepsAndRegistryOfTheLastFailureAreKept(@TempDir Path state) throws Exception {
        try (SimulatedWorld _ = new SimulatedWorld(state)) {
            KeptFailure.keep(KeptFailureTest.class, state, "[other, second]");
            KeptFailure.keep(KeptFailureTest.class, state, "[first, second]");
        }
        Path directory = KeptFailure.directory(KeptFailureTest.class);
        assertEquals("[first, second]", Files.readString(directory.resolve("steps")));
        assertTrue(Files.size(directory.resolve("state/registry.db")) > 0);
    }
}
