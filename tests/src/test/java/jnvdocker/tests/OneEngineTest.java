package jnvdocker.tests;

import jnvdocker.tests.world.Lab;
import jnvdocker.tests.world.TestEngine;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;

/** A lab for all tests of a class; each test leaves nothing behind in it, and the daemon up. */
@Tag("docker")
@Tag("root")
abstract class OneEngineTest {
    static Lab lab;

    @BeforeAll
    static void open() {
        lab = new Lab(TestEngine.Release.DEBIAN_STABLE);
    }

    @AfterAll
    static void close() {
        lab.close();
    }

    @AfterEach
    void nothingIsLeft() {
        lab.startDaemon();
        lab.clear();
    }
}
