package jnvdocker.doctor;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

import java.time.Instant;
import java.util.Optional;

class DaemonEndsTest {
    private static final Instant NOW = Instant.ofEpochSecond(1_800_000_000);

    private static Optional<String> describe(String lines) {
        return DaemonEnds.describe(lines, NOW)
                .map(text -> text.replaceFirst("at .*?\\d\\d:\\d\\d:", "at TIME:"));
    }

    @Test
    void reasonsAreCounted() {
        assertEquals(
                Optional.of(
                        "the daemon has ended by itself 4 times in 24 hours, the last time at TIME:"
                                + " signal KILL (2 times), exit code 1, killed for want of memory"),
                describe(
                        """
                        1799999000 signal KILL
                        1799999001 exit-code 1
                        1799999002 signal KILL
                        1799999003 oom-kill KILL
                        """));
        assertTrue(describe("1799999000 timeout TERM").orElseThrow().contains(" once in 24 hours"));
    }

    @Test
    void oldEndsAndForeignLinesAreLeftOut() {
        assertEquals(Optional.empty(), describe(""));
        assertEquals(Optional.empty(), describe("1799900000 signal KILL\n"));
        assertEquals(Optional.empty(), describe("noise\n99999999999999999999 signal KILL\n12\n"));
    }
}
