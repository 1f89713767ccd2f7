package jnvdocker.core;

import jnvdocker.holder.HolderKind;
import jnvdocker.process.Processes;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;

/** A simulated world with a registry of its own for each test. */
abstract class SimulatedWorldTest {
    @TempDir Path state;
    SimulatedWorld world;

    @BeforeEach
    void openWorld() throws IOException {
        world = new SimulatedWorld(state, this::kinds);
    }

    /** The kinds of holders that other modules know. */
    List<HolderKind> kinds(Processes processes) {
        return List.of();
    }

    @AfterEach
    void closeWorld() throws IOException {
        world.close();
    }
}
