package jnvdocker.request;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import jnvdocker.host.Gpu;
import jnvdocker.words.RefusedException;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.util.List;

class GpuResolverTest {
    @ParameterizedTest
    @ValueSource(
            strings = {
                "1",
                "01",
                "GPU-5c1a2006-1d2c-4e5f-8a9b-012345678902",
                "gpu-5C1A2006-1D2C-4E5F-8A9B-012345678902",
                "GPU-5c1a2006",
                "GPU-5c1a2",
                "0000:af:00.0",
                "0000:AF:00.0",
                "00000000:AF:00.0",
                "af:00.0",
            })
    void everyIdOfAGpuMeansIt(String id) throws RefusedException {
        assertEquals(List.of(Gpus.B), resolve(id));
    }

    @Test
    void domainTellsBusesOfTheSameNumberApart() throws RefusedException {
        assertEquals(List.of(Gpus.A), resolve("07:00.0"));
        assertEquals(List.of(Gpus.A), resolve("0000:07:00.0"));
        assertEquals(List.of(Gpus.C), resolve("0001:07:00.0"));
        assertEquals(List.of(Gpus.C), resolve("00000001:07:00.0"));
    }

    @Test
    void resultIsInOrderOfIndex() throws RefusedException {
        assertEquals(List.of(Gpus.A, Gpus.B, Gpus.C), resolve("0001:07:00.0", "0", "af:00.0"));
    }

    @Test
    void gpuThatIsNamedTwiceIsRefused() {
        assertRefusal("GPU 0 is named twice; name each GPU once", "0", "0");
        assertRefusal(
                "GPU 1 is named twice, as 1 and as af:00.0; name each GPU once",
                "1",
                "0",
                "af:00.0");
    }

    @Test
    void indexIsNotTheMinor() throws RefusedException {
        assertEquals(List.of(Gpus.A), resolve("0"));
        assertEquals(0, resolve("1").getFirst().minor());
    }

    @Test
    void digitsAreAnIndexAndNoPartOfAUuid() {
        assertRefusal("invalid device: \\u{1b}[31m; this host has 0-2", "\u001b[31m");
        assertRefusal("invalid device: 7777; this host has 0-2", "7777");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "3",
                "-1",
                "99999999999999999999",
                "GPU-5c1a9",
                "GPU-5c1a1003-1d2c-4e5f-8a9b-0123456789011",
                "5c1a1003",
                "MIG-5c1a1003",
                "0:0",
                "07:00",
                "07:00.1",
                "07:00.8",
                "0002:07:00.0",
                "000000000:07:00.0",
                "::.",
                "all",
                "",
            })
    void otherIdsAreRefusedWithTheChoiceThereIs(String id) {
        assertRefusal(
                "invalid device: "
                        + id
                        + "; this host has 0-2 ('jnvdocker gpu ls' shows their UUIDs)",
                id);
    }

    @Test
    void oneUnknownIdRefusesAll() {
        assertRefusal("invalid device: 9; this host has 0-2", "0", "9", "1");
    }

    @Test
    void beginningOfTwoUuidsIsRefusedWithBoth() {
        assertRefusal(
                "invalid device: GPU-5c1a; more than one UUID begins with it ("
                        + Gpus.A.uuid()
                        + ", "
                        + Gpus.B.uuid()
                        + "), type more of it",
                "GPU-5c1a");
    }

    @Test
    void hostWithoutGpusSaysSo() {
        var error =
                assertThrows(
                        RefusedException.class, () -> GpuResolver.resolve(List.of("0"), List.of()));
        assertEquals("invalid device: 0; this host has no GPU", error.getMessage());
    }

    private static List<Gpu> resolve(String... ids) throws RefusedException {
        return GpuResolver.resolve(List.of(ids), Gpus.ALL);
    }

    private static void assertRefusal(String beginning, String... ids) {
        var error = assertThrows(RefusedException.class, () -> resolve(ids));
        String text = error.getMessage();
        assertEquals(beginning, text.substring(0, Math.min(text.length(), beginning.length())));
    }
}
