package jnvdocker.command;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.lease.GpuStatus;

import org.junit.jupiter.api.Test;

import java.util.List;
import java.util.Optional;

class GpuLsTest {
    private static final List<GpuStatus> GPUS =
            List.of(
                    Samples.free(0, Optional.empty()),
                    Samples.free(1, Optional.of(Samples.AT_NINE)),
                    Samples.taken(
                            2, GpuStatus.State.HELD, Samples.held(1, "train-7", 2), "starting"),
                    Samples.taken(3, GpuStatus.State.RESERVED, Samples.reserved(2, 3), ""));

    @Test
    void lineSaysWhoHasTheGpuAndForHowLong() {
        assertEquals(
                List.of(
                        "GPU   UUID           MODEL                   STATE      USER    CONTAINER "
                                + "           AGE       NOTE",
                        "0     GPU-5c1a0000   NVIDIA A100-SXM4-40GB   FREE       -       -         "
                                + "           -",
                        "1     GPU-5c1a1001   NVIDIA A100-SXM4-40GB   FREE       -       -         "
                                + "           idle 3h",
                        "2     GPU-5c1a2002   NVIDIA A100-SXM4-40GB   HELD       alice   train-7   "
                                + "           3h        starting",
                        "3     GPU-5c1a3003   NVIDIA A100-SXM4-40GB   RESERVED   alice  "
                                + " (nvidia/cuda:12.2)   3h"),
                GpuLs.table(GPUS, Samples.NOW).lines());
    }

    @Test
    void modelIsShortenedForANarrowTerminal() {
        List<String> lines = GpuLs.table(GPUS, Samples.NOW).lines(94, "MODEL");
        assertTrue(lines.stream().allMatch(line -> line.length() <= 94), lines::toString);
        assertTrue(lines.get(1).contains("   NVIDIA A100…   "), lines::toString);
    }

    @Test
    void nameDoesNothingToATerminal() {
        GpuStatus gpu =
                Samples.taken(0, GpuStatus.State.HELD, Samples.held(1, "\u001b[2Jx", 0), "");
        String line = GpuLs.table(List.of(gpu), Samples.NOW).lines().get(1);
        assertFalse(line.contains("\u001b"), line);
        assertTrue(line.contains("\\u{1b}[2Jx"), line);
    }
}
