package jnvdocker.command.caller;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.grant.Waiting;
import jnvdocker.words.RefusedException;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.time.Duration;
import java.util.Optional;

class GpuWaitTest {
    private static Optional<Waiting> of(String text) throws RefusedException {
        return GpuWait.ofLabel("jnvdocker.wait", text, null);
    }

    @ParameterizedTest
    @CsvSource({"30m, PT30M", "' 1d12h ', PT36H", "0s, PT0S", "36500d, P36500D", "1,", "true,"})
    void waitHasALimitOrNone(String text, Duration limit) throws RefusedException {
        Waiting waiting = of(text).orElseThrow();
        assertEquals(Optional.ofNullable(limit), waiting.limit());
        assertEquals("the label jnvdocker.wait", waiting.source());
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "0", "no", "false"})
    void nobodyWaits(String text) throws RefusedException {
        assertEquals(Optional.empty(), of(text));
    }

    @ParameterizedTest
    @CsvSource({
        "soon, 'is not a duration; write one as in 90s'",
        "30, is not a duration",
        "-5m, is not a duration",
        "36501d, is not between 0s and 36500d"
    })
    void otherTextIsRefusedByItsSource(String text, String why) {
        String message = assertThrows(RefusedException.class, () -> of(text)).getMessage();
        assertTrue(message.startsWith("the label jnvdocker.wait: '" + text + "' " + why), message);
    }
}
