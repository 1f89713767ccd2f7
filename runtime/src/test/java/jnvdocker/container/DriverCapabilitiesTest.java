package jnvdocker.container;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.util.Map;

class DriverCapabilitiesTest {
    @ParameterizedTest
    @CsvSource({
        "all, true",
        "graphics, true",
        "display, true",
        "'compute,utility,graphics', true",
        "'utility, display', true",
        "'xyz,,graphics,', true",
        "'compute,all', true",
        "'', false",
        "',', false",
        "'compute,utility', false",
        "ALL, false",
        "graphics2, false",
        "'video;graphics', false",
        "'compute graphics', false",
    })
    void graphicsAreAskedForByTheirWords(String value, boolean wanted) {
        assertEquals(
                wanted,
                DriverCapabilities.wantsGraphics(Map.of("NVIDIA_DRIVER_CAPABILITIES", value)));
    }

    @Test
    void environmentWithoutCapabilitiesAsksForNone() {
        assertFalse(DriverCapabilities.wantsGraphics(Map.of("NVIDIA_VISIBLE_DEVICES", "all")));
    }
}
