package jnvdocker.volume.plugin;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import jnvdocker.words.RefusedException;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class VolumeNameTest {
    @ParameterizedTest
    @CsvSource({
        "nvidia_driver_535.104.05, nvidia_driver, 535.104.05",
        "nvidia_driver_384.111, nvidia_driver, 384.111",
        "nvidia_driver_1_535.54, nvidia_driver_1, 535.54",
        "a_1, a, 1",
    })
    void versionFollowsTheLastUnderscore(String name, String kind, String version)
            throws RefusedException {
        assertEquals(new VolumeName(kind, version), VolumeName.parse(name));
        assertEquals(name, VolumeName.parse(name).toString());
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "_",
                "_1",
                "nvidia_driver",
                "nvidia_driver_",
                "nvidia_driver_535.x",
                "../nvidia_driver_535.54",
                "nvidia_driver_../../etc",
                "nvidia driver_535.54",
                "nvidia_driver_535.54\n",
                "nvidia_driver_５３５.54",
            })
    void otherNamesAreRefused(String name) {
        assertThrows(RefusedException.class, () -> VolumeName.parse(name));
    }

    @Test
    void refusalHasTheWordsOfOldAndNothingThatATerminalObeys() {
        var error = assertThrows(RefusedException.class, () -> VolumeName.parse("a\u001b[2J\nb"));
        assertEquals(
                "bad volume format: a\\u{1b}[2J\\u{a}b; use nvidia_driver_<version>",
                error.getMessage());
    }

    @Test
    void versionOfADriverIsRead() throws RefusedException {
        assertEquals(
                "535.104.05", VolumeName.parse("nvidia_driver_535.104.05").driverVersion().text());
    }

    @ParameterizedTest
    @ValueSource(strings = {"a_1", "a_...", "a_1..2", "a_.1", "a_1.2.3.4.5", "a_1.99999999999"})
    void versionOfNoDriverIsRefused(String name) throws RefusedException {
        VolumeName parsed = VolumeName.parse(name);
        var error = assertThrows(RefusedException.class, parsed::driverVersion);
        assertEquals(
                "bad volume format: " + name + "; use nvidia_driver_<version>", error.getMessage());
    }
}
