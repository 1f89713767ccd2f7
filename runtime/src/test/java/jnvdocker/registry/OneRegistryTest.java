package jnvdocker.registry;

import jnvdocker.lease.TestingLeases;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Instant;

/** A new registry for each test, at a time that the test decides. */
abstract class OneRegistryTest {
    @TempDir Path directory;
    LeaseRegistry registry;
    Instant now;

    OneRegistryTest(Instant now) {
        this.now = now;
    }

    @BeforeEach
    void open() throws IOException {
        registry =
                LeaseRegistry.open(
                        directory, "boot", TestingLeases.steady(() -> now), TestingLeases.RANDOM);
    }

    @AfterEach
    void close() throws IOException {
        LedgerCheck.check(registry, directory);
        registry.close();
    }
}
