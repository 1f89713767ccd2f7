package jnvdocker.request;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.attack.Attack;
import jnvdocker.host.Gpu;
import jnvdocker.host.Part;
import jnvdocker.words.RefusedException;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.util.List;
import java.util.Optional;

@Attack(by = "any user", what = "puts escapes into names and ids", result = "spelled out")
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

    /** As {@code gpu ls} and refusals print several. */
    @Test
    void rangesAndListsMeanEachOfTheirGpus() throws RefusedException {
        assertEquals(List.of(Gpus.A, Gpus.B, Gpus.C), resolve("0-2"));
        assertEquals(List.of(Gpus.A, Gpus.B, Gpus.C), resolve("2,0-1"));
        assertRefusal("GPU 1 is named twice; name each GPU once", "0-1", "1-2");
        assertRefusal(
                "invalid device: 2-1; this host has 0-2 ('jnvdocker gpu ls' shows their UUIDs)",
                "2-1");
        assertRefusal(
                "invalid device: 3; this host has 0-2 ('jnvdocker gpu ls' shows their UUIDs)",
                "1-3");
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

    private static final Gpu FIRST = part("MIG-22d5a1c4-0d6e-5d27-9b3e-6e5a1c1f0a01", 0, 1);
    private static final Gpu SECOND = part("MIG-8b1f3f0a-5f07-5c55-bb06-0d9c1f2f0a02", 1, 2);
    private static final List<Gpu> PARTED = List.of(FIRST, SECOND, Gpus.B);

    private static Gpu part(String uuid, int number, int gpuInstance) {
        return new Gpu(
                0,
                uuid,
                3,
                "0000:07:00.0",
                "NVIDIA A100-SXM4-40GB MIG 3g.20gb",
                Optional.empty(),
                Optional.of(
                        new Part(Gpus.A.uuid(), number, gpuInstance, 0, 21, 22, Optional.empty())));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "0:1",
                "MIG-8b1f3f0a-5f07-5c55-bb06-0d9c1f2f0a02",
                "mig-8B1F",
                "MIG-GPU-5c1a1003-1d2c-4e5f-8a9b-012345678901/2/0"
            })
    void everyIdOfAnInstanceMeansIt(String id) throws RefusedException {
        assertTrue(GpuResolver.isId(id));
        assertEquals(List.of(SECOND), GpuResolver.resolve(List.of(id), PARTED));
    }

    @Test
    void instancesAreInOrderAndUnlikeEachOther() throws RefusedException {
        assertEquals(PARTED, GpuResolver.resolve(List.of("1", "0:1", "MIG-22"), PARTED));
        var error =
                assertThrows(
                        RefusedException.class,
                        () -> GpuResolver.resolve(List.of("0:1", "MIG-8b"), PARTED));
        assertEquals(
                "GPU 0:1 is named twice, as 0:1 and as MIG-8b; name each GPU once",
                error.getMessage());
    }

    @ParameterizedTest
    @ValueSource(strings = {"0", "GPU-5c1a1003", "07:00.0"})
    void gpuInMigModeIsNotGivenOutWhole(String id) {
        var error =
                assertThrows(
                        RefusedException.class, () -> GpuResolver.resolve(List.of(id), PARTED));
        assertEquals(
                "GPU 0 is in MIG mode and not given out whole; name an instance of it (0:0,0:1)",
                error.getMessage());
        assertTrue(PARTED.stream().filter(gpu -> GpuResolver.covers(id, gpu)).count() == 2);
    }

    @Test
    void instanceThatIsNotThereIsRefusedWithTheChoiceThereIs() {
        var error =
                assertThrows(
                        RefusedException.class, () -> GpuResolver.resolve(List.of("0:2"), PARTED));
        assertEquals(
                "invalid device: 0:2; this host has 1,0:0,0:1 ('jnvdocker gpu ls' shows their"
                        + " UUIDs)",
                error.getMessage());
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
