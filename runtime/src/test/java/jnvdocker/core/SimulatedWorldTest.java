package jnvdocker.core;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Path;

/** A simulated world with a registry of its own for each test. */
abstract class SimulatedWorldTest {
    @TempDir Path state;
    SimulatedWorld world;

    @BeforeEach
    void openWorld() throws IOException {
        world = new SimulatedWorld(state, this::feature);
    }

    /** What a feature of another module brings to the world. */
    SimulatedFeature feature(SimulatedWorld its) {
        return SimulatedFeature.NONE;
    }

    @AfterEach
    void closeWorld() throws IOException {
        world.close();
    }
}
