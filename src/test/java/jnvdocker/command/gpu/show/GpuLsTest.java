package jnvdocker.command.gpu.show;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.command.gpu.view.GpuNotes;
import jnvdocker.command.gpu.view.Samples;
import jnvdocker.lease.GpuStatus;
import jnvdocker.lease.Tenure;
import jnvdocker.screen.Screen;

import org.junit.jupiter.api.Test;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;

class GpuLsTest {
    private static final List<GpuStatus> GPUS =
            List.of(
                    Samples.free(0, Optional.empty()),
                    Samples.free(1, Optional.of(Samples.AT_NINE)),
                    Samples.taken(
                            2, GpuStatus.State.HELD, Samples.held(1, "train-7", 2), "starting"),
                    Samples.taken(3, GpuStatus.State.RESERVED, Samples.reserved(2, 3), ""));

    /**
     * The tenures are those of the leases, except for train-7's, which began after three restarts.
     */
    private static List<String> lines(List<GpuStatus> gpus, Screen screen) {
        return GpuLs.table(
                gpus,
                Map.of(
                        1L, new Tenure(Samples.AT_NINE.minus(Duration.ofDays(2)), 3),
                        2L, new Tenure(Samples.AT_NINE, 0)),
                new GpuNotes(List.of(), Map.of(), Samples.NOW),
                GpuLs::share,
                screen);
    }

    @Test
    void lineSaysWhoHasTheGpuAndForHowLong() {
        assertEquals(
                List.of(
                        "GPU   UUID           MODEL            STATE      USER    CONTAINER "
                                + "           AGE       NOTE",
                        "0     GPU-5c1a0000   A100-SXM4-40GB   FREE       -       -         "
                                + "           -",
                        "1     GPU-5c1a1001   A100-SXM4-40GB   FREE       -       -         "
                                + "           idle 3h",
                        "2     GPU-5c1a2002   A100-SXM4-40GB   HELD       alice   train-7   "
                                + "           2d        restarted 3 times, starting",
                        "3     GPU-5c1a3003   A100-SXM4-40GB   RESERVED   alice  "
                                + " (nvidia/cuda:12.2)   3h"),
                lines(GPUS, Screen.NONE));
    }

    @Test
    void modelIsShortenedForANarrowTerminal() {
        Screen narrow = new Screen(80, 0, true, true, false);
        List<String> lines = lines(GPUS, narrow);
        assertTrue(lines.stream().allMatch(line -> Screen.width(line) <= 80), lines::toString);
        assertTrue(lines.get(1).contains("   A100-SXM…   "), lines::toString);
        assertEquals("      restarted 3 times, starting", lines.get(4));
        assertTrue(lines.get(1).contains("   \u001b[32mFREE\u001b[0m   "), lines::toString);
    }

    @Test
    void whoWaitsIsCounted() {
        assertEquals(Optional.empty(), GpuLs.queue(0));
        assertEquals(Optional.of("1 client waits for GPUs: jnvdocker gpu queue"), GpuLs.queue(1));
        assertEquals(Optional.of("2 clients wait for GPUs: jnvdocker gpu queue"), GpuLs.queue(2));
    }

    @Test
    void nameDoesNothingToATerminal() {
        GpuStatus gpu =
                Samples.taken(0, GpuStatus.State.HELD, Samples.held(1, "\u001b[2Jx", 0), "");
        String line = lines(List.of(gpu), Screen.NONE).get(1);
        assertFalse(line.contains("\u001b"), line);
        assertTrue(line.contains("\\u{1b}[2Jx"), line);
    }
}
