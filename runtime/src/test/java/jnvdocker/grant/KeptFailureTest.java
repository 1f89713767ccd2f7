package jnvdocker.grant;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** A failure of a model is kept with its steps and its state. */
class KeptFailureTest {
    private static final class Fails implements ModelRun.Model<String> {
        @Override
        public void make(String step) {
            if (step.equals("second")) {
                throw new IllegalStateException("as it should");
            }
        }

        @Override
        public void check() {}

        @Override
        public void settle() {}
    }

    @Test
    void stepsAndRegistryOfTheLastFailureAreKept() throws Exception {
        for (List<String> steps : List.of(List.of("other", "second"), List.of("first", "second"))) {
            assertThrows(
                    AssertionError.class,
                    () -> ModelRun.of(KeptFailureTest.class, steps, _ -> new Fails()));
        }
        Path folder = KeptFailure.folder(KeptFailureTest.class);
        assertEquals("[first, second]", Files.readString(folder.resolve("steps")));
        assertTrue(Files.size(folder.resolve("state/registry.db")) > 0);
    }
}
