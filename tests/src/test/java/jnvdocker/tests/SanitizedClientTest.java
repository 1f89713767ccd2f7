package jnvdocker.tests;

import jnvdocker.tests.world.SanitizedClient;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;

/** A client under sanitizers for all tests of a class, after each of which it is sound. */
abstract class SanitizedClientTest {
    static final int REFUSED = 125;
    static final int KIB = 1 << 10;

    static SanitizedClient client;

    @BeforeAll
    static void makeClient() {
        client = new SanitizedClient();
    }

    @AfterAll
    static void removeClient() {
        client.close();
    }

    @AfterEach
    void assertNothingWasFound() {
        client.assertSound();
        client.assertNothingLeft();
    }
}
