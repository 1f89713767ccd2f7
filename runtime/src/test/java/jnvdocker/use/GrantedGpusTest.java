package jnvdocker.use;

import static org.junit.jupiter.api.Assertions.assertEquals;

import jnvdocker.host.Gpu;
import jnvdocker.host.Part;
import jnvdocker.use.GpuUse.Kind;
import jnvdocker.words.Refusal;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;

/** GPU 0 has the minor 1 and GPU 1 the minor 0; GPU 2 cannot be given out. */
class GrantedGpusTest {
    private static final int MAJOR = 195;
    private static final List<Gpu> GPUS =
            List.of(
                    new Gpu(0, "GPU-5c1a1003-1d2c", 1, "0000:07:00.0", "A100"),
                    new Gpu(1, "GPU-77777777-1d2c", 0, "0000:0f:00.0", "A100"),
                    new Gpu(2, "?", -1, "0000:47:00.0", "?")
                            .with(new Refusal("it is lost", "check it")));
    private static final Map<String, Set<Integer>> PLACES =
            Map.of(
                    "/dev/nvidia0", Set.of(0),
                    "/dev/char/195:1", Set.of(1),
                    "/dev", Set.of(0, 1),
                    "/", Set.of(0, 1),
                    "/data", Set.of(0, 1));

    @ParameterizedTest
    @CsvSource({
        "/dev/nvidia0, 1",
        "/dev/char/195:1, 0",
        "/dev, 0 1",
        "/dev/nvidiactl, ''",
    })
    void deviceIsTheTargetOfItsPath(String path, String indices) {
        assertIndices(
                indices, new GpuAccess(false, List.of(path), List.of(), List.of(), List.of()));
    }

    @ParameterizedTest
    @CsvSource({
        "false, /dev/nvidia0, '', ''",
        "false, /dev/nvidia0, c 195:0 rw, 1",
        "false, /dev/nvidia0, c 195:1 r, 0",
        "false, /dev/nvidia0, c 195:* m, ''",
        "false, /dev/nvidia0, c 10:* rwm, ''",
        "false, /dev, c *:* rwm, 0 1",
        "false, /, a, 0 1",
        "false, /, a *:* rwm, 0 1",
        "false, /data, c *:* rwm, ''",
        "false, /none, c *:* rwm, ''",
        "false, /none, c 195:* w, 0 1",
        "false, /none, c 0195:01 w, 0",
        "false, /none, c 195:99999999999999999999 w, ''",
        "false, /none, a 195:1 rw, ''",
        "false, /dev, c 4294967491:0 rw, 0 1",
        "false, /, a 10:7 rw, 0 1",
        "false, /none, nonsense, ''",
        "true, /dev/nvidia0, '', 1",
        "true, /dev/char/195:1, '', 0",
        "true, /dev, '', ''",
        "true, /none, '', ''",
    })
    void mountCountsWhenItMayBeOpened(
            boolean privileged, String bind, String rule, String indices) {
        List<String> rules = rule.isEmpty() ? List.of() : List.of(rule);
        assertIndices(
                indices, new GpuAccess(privileged, List.of(), List.of(bind), rules, List.of()));
    }

    @ParameterizedTest
    @CsvSource({
        "all, 0 1",
        "0, 0",
        "1:0, 1",
        "2, ''",
        "9, ''",
        "99999, ''",
        "GPU-5c1a, 0",
        "gpu-77777777-1D2C, 1",
        "MIG-GPU-77777777-1d2c/1/0, 1",
        "MIG-0123, ''",
        "none, ''",
        "'', ''",
    })
    void givenAreThoseNamed(String id, String indices) {
        assertIndices(indices, given(Kind.REQUEST, id));
    }

    @Test
    void gpusRequestedFromTheEngineAreNamedAsSuch() {
        GpuAccess access =
                new GpuAccess(
                        false,
                        List.of("/dev"),
                        List.of(),
                        List.of(),
                        List.of(new GpuAccess.Given(Kind.CDI, List.of("1"))));
        Map<Gpu, Kind> expected = new LinkedHashMap<>();
        expected.put(GPUS.get(0), Kind.NODE);
        expected.put(GPUS.get(1), Kind.CDI);
        assertEquals(expected, kinds(access));
    }

    /** GPU 0 is in MIG mode, and has the minor 1. */
    @ParameterizedTest
    @CsvSource({
        "'', '', ''",
        "'', all, 0:0 0:1 1",
        "'', 0, 0:0 0:1",
        "'', 0:1, 0:1",
        "'', GPU-5c1a, 0:0 0:1",
        "'', MIG-8b, 0:1",
        "'', MIG-GPU-5c1a1003-1d2c/1/0, 0:0",
        "/dev/char/195:1, '', 0:0 0:1",
        "/dev/char/195:1 /dev/nvidia-caps/nvidia-cap22, '', 0:0",
        "/dev/char/195:1 /dev/nvidia-caps/nvidia-cap21, '', 0:0 0:1",
        "/dev/nvidia-caps/nvidia-cap22, '', ''",
        "/dev/nvidia0 /dev/nvidia-caps/nvidia-cap22, '', 1",
    })
    void instanceIsGivenByItsNameOrItsCapability(String devices, String id, String numbers) {
        List<Gpu> gpus = List.of(part("MIG-22", 0, 1, 22), part("MIG-8b", 1, 2, 32), GPUS.get(1));
        GpuAccess access =
                new GpuAccess(
                        false,
                        devices.isEmpty() ? List.of() : List.of(devices.split(" ")),
                        List.of(),
                        List.of(),
                        id.isEmpty() ? List.of() : given(Kind.RUNTIME, id).given());
        assertEquals(
                numbers,
                kinds(access, gpus).keySet().stream()
                        .map(Gpu::number)
                        .collect(Collectors.joining(" ")));
    }

    private static Gpu part(String uuid, int number, int gpuInstance, int computeAccess) {
        String whole = GPUS.getFirst().uuid();
        Part part =
                new Part(
                        whole,
                        number,
                        gpuInstance,
                        0,
                        computeAccess - 1,
                        computeAccess,
                        Optional.empty());
        return new Gpu(
                0,
                uuid,
                1,
                "0000:07:00.0",
                "A100 MIG 3g.20gb",
                Optional.empty(),
                Optional.of(part));
    }

    private static GpuAccess given(Kind kind, String... ids) {
        return new GpuAccess(
                false,
                List.of(),
                List.of(),
                List.of(),
                List.of(new GpuAccess.Given(kind, List.of(ids))));
    }

    private static void assertIndices(String expected, GpuAccess access) {
        List<String> found = kinds(access).keySet().stream().map(gpu -> "" + gpu.index()).toList();
        assertEquals(expected, String.join(" ", found));
    }

    private static Map<Gpu, Kind> kinds(GpuAccess access) {
        return kinds(access, GPUS);
    }

    private static Map<Gpu, Kind> kinds(GpuAccess access, List<Gpu> gpus) {
        var paths =
                new GrantedGpus.Paths() {
                    @Override
                    public Set<Integer> given(String path) {
                        return PLACES.getOrDefault(path, Set.of());
                    }

                    @Override
                    public Set<Integer> seen(String path) {
                        return PLACES.getOrDefault(path, Set.of());
                    }
                };
        return new GrantedGpus(access, paths).kinds(gpus, MAJOR);
    }
}
