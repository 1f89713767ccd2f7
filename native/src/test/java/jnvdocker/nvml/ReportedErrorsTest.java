package jnvdocker.nvml;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.attack.Attack;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.Optional;

@Attack(
        by = "a fault",
        what = "the disk is full when a GPU's error is to be kept",
        result = "written the next time; warned of once")
class ReportedErrorsTest {
    private static final String UUID = "GPU-5c1a0000-0000-4000-8000-000000000000";

    @TempDir Path directory;

    /** The driver reports an error once: a full disk must not hide it from the next daemon. */
    @Test
    void whatCouldNotBeWrittenIsWrittenTheNextTime() throws Exception {
        Path file = directory.resolve("state/errors");
        ReportedErrors errors = ReportedErrors.read(file, "boot");
        errors.loaded("load");
        Fault.Reported error = new Fault.Reported(95, Instant.ofEpochSecond(1000));
        errors.add(UUID, error, 0);
        errors.save();
        assertTrue(Files.notExists(file));
        Files.createDirectory(file.getParent());
        errors.save();
        assertEquals(Optional.of(error), ReportedErrors.read(file, "boot").of(UUID));
    }
}
