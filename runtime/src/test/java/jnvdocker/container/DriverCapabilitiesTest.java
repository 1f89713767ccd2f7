package jnvdocker.container;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.util.HashMap;
import java.util.Map;
import java.util.Optional;

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
    void graphicsAreRequestedByTheirWords(String value, boolean wanted) {
        assertEquals(
                wanted,
                DriverCapabilities.wantsGraphics(Map.of("NVIDIA_DRIVER_CAPABILITIES", value)));
    }

    @ParameterizedTest
    @CsvSource({
        "utility, true",
        "' utility , compat32', true",
        "compat32, false",
        "'utility,compute', false",
        "'utility,video', false",
        "'utility,unknown', false",
        "all, false",
        "'', false",
    })
    void onlyUtilityIsToObserve(String value, boolean observe) {
        assertEquals(
                observe,
                DriverCapabilities.onlyObserve(Map.of("NVIDIA_DRIVER_CAPABILITIES", value)));
        assertFalse(DriverCapabilities.onlyObserve(Map.of()));
    }

    @ParameterizedTest
    @CsvSource({
        "'compute,utility', libcuda.so.1, true",
        "video, libcuda.so.1, true",
        "utility, libunknown.so.1, true",
        "'compute,utility', libnvcuvid.so.1, false",
        "'compute,video', libnvcuvid.so.1, true",
        "'compute,video', libGLX_nvidia.so.0, false",
        "display, libGLX_nvidia.so.0, true",
        "graphics, libnvidia-encode.so, false",
        "graphics, libnvidia-egl-gbm.so.1, true",
        "compute, libnvidia-ngx.so.1, false",
        "all, libnvcuvid.so.1, true",
        "'', libnvcuvid.so.1, true",
    })
    void librariesOfOtherCapabilitiesAreNotNeeded(String value, String library, boolean needed) {
        assertEquals(
                needed,
                DriverCapabilities.wants(Map.of("NVIDIA_DRIVER_CAPABILITIES", value), library));
    }

    @ParameterizedTest
    @CsvSource({
        "'compute,utility', ''",
        "'all', ''",
        "'compat32,compute,display,graphics,ngx,utility,video', ''",
        "' compute ,, ', ''",
        "'graphic,foo', 'graphic'",
        "'compute,ALL', 'ALL'",
        "'compute utility', 'compute utility'",
    })
    void wordThatMeansNothingIsNamed(String value, String word) {
        assertEquals(
                word.isEmpty()
                        ? Optional.empty()
                        : Optional.of(
                                "NVIDIA_DRIVER_CAPABILITIES has '"
                                        + word
                                        + "', which is ignored; choose from all, compat32, compute,"
                                        + " display, graphics, ngx, utility, video"),
                DriverCapabilities.unknown(Map.of("NVIDIA_DRIVER_CAPABILITIES", value)));
    }

    @Test
    void variableThatItsUserTakesAwayHasNone() {
        Map<String, String> environment = new HashMap<>();
        environment.put("NVIDIA_DRIVER_CAPABILITIES", null);
        assertEquals(Optional.empty(), DriverCapabilities.unknown(environment));
    }

    @Test
    void environmentWithoutCapabilitiesAsksForNone() {
        assertFalse(DriverCapabilities.wantsGraphics(Map.of("NVIDIA_VISIBLE_DEVICES", "all")));
    }
}
