package jnvdocker.mesos.agent;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.host.Gpu;
import jnvdocker.words.Span;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.time.Duration;
import java.util.List;

class MesosPolicyTest {
    private static final Gpu FIRST = new Gpu(0, "GPU-5c1a0000", 0, "0000:07:00.0", "A100");
    private static final Gpu SECOND = new Gpu(1, "GPU-5c1a1003", 1, "0000:0f:00.0", "A100");

    @Test
    void withoutAListTasksGetAnyGpu() {
        assertTrue(new MesosPolicy(List.of(), MesosPolicy.WAIT).gives(FIRST));
        assertTrue(new MesosPolicy(List.of(), MesosPolicy.WAIT).gives(SECOND));
    }

    @ParameterizedTest
    @ValueSource(strings = {"1", "GPU-5c1a1", "gpu-5C1A1003", "0f:00.0", "00000000:0F:00.0"})
    void aListNamesGpusAsEverywhereElse(String id) {
        MesosPolicy policy = new MesosPolicy(List.of(id), MesosPolicy.WAIT);
        assertTrue(policy.gives(SECOND));
        assertFalse(policy.gives(FIRST));
        assertEquals(List.of(), policy.givesNothing(List.of(FIRST, SECOND)));
        assertEquals(List.of(id), policy.givesNothing(List.of(FIRST)));
    }

    @Test
    void waitsAreWithinTheLimitOfTheAgent() {
        assertEquals(Duration.ZERO, Span.parse("0s", MesosPolicy.WAITS));
        assertEquals(Duration.ofSeconds(45), Span.parse("45s", MesosPolicy.WAITS));
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "30", "s", "-1s", "46s", "1m", "1h", "1d", "30s ", "999999s"})
    void otherWaitsAreRefused(String text) {
        assertThrows(IllegalArgumentException.class, () -> Span.parse(text, MesosPolicy.WAITS));
    }
}
