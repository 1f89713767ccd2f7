package jnvdocker.tests;

import jnvdocker.tests.world.DriverRoot;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;

/** A host for all tests of a class; no engine. */
@Tag("root")
abstract class OneHostTest {
    static DriverRoot host;

    @BeforeAll
    static void makeHost() {
        host = DriverRoot.make(DriverRoot.Release.DRIVER_535);
    }

    @AfterAll
    static void removeHost() {
        host.close();
    }
}
