package jnvdocker.command.gpu.show;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.command.gpu.view.GpuNotes;
import jnvdocker.command.gpu.view.Samples;
import jnvdocker.idle.IdleHolder;
import jnvdocker.lease.GpuStatus;
import jnvdocker.lease.IdleSource;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Tenure;
import jnvdocker.lease.text.LeaseText;
import jnvdocker.screen.Screen;

import org.junit.jupiter.api.Test;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;

/** How GPUs that are held and not used are shown. */
class GpuIdleTest {
    private static final long GIB = 1L << 30;
    private static final Lease TRAIN = Samples.held(1, "train-7", 0, 2);
    private static final Lease EVAL = Samples.held(2, "eval-of-a-rather-long-name", 1);
    private static final IdleHolder BY_NODES = idle(TRAIN, 2, IdleSource.NODES, false);
    private static final IdleHolder BY_NVML = idle(EVAL, 1, IdleSource.NVML, true);
    private static final String NINE = LeaseText.time(Samples.AT_NINE);

    private static IdleHolder idle(Lease lease, int gpu, IdleSource source, boolean atLeast) {
        return new IdleHolder(
                Samples.gpu(gpu),
                lease,
                false,
                source,
                Samples.AT_NINE,
                atLeast,
                Optional.empty(),
                switch (source) {
                    case NODES -> OptionalLong.empty();
                    case NVML -> OptionalLong.of(12 * GIB);
                });
    }

    private static List<String> lines(Screen screen, IdleHolder... idle) {
        return GpuIdle.listing(List.of(idle), Duration.ofMinutes(5), Samples.NOW).lines(screen);
    }

    @Test
    void lineSaysWhoHasAGpuAndForHowLongItIsIdle() {
        String since = "%-" + NINE.length() + "s";
        assertEquals(
                List.of(
                        "GPU   USER    CONTAINER                    IDLE   "
                                + since.formatted("SINCE")
                                + "   MEM        HELD   NOTE",
                        "2     alice   train-7                      3h     "
                                + NINE
                                + "   -          3h     no process has it open",
                        "1     alice   eval-of-a-rather-long-name   3h     "
                                + NINE
                                + "   12.0 GiB   3h     utilization 0, not watched before"),
                lines(Screen.NONE, BY_NODES, BY_NVML));
    }

    @Test
    void tableFitsATerminalOf80Columns() {
        List<String> lines = lines(new Screen(80, 0, true, true, false), BY_NODES, BY_NVML);
        assertTrue(lines.stream().allMatch(line -> Screen.width(line) <= 80), lines::toString);
        assertEquals("      no process has it open", lines.get(2));
    }

    @Test
    void noneIsReportedWithTheTime() {
        assertEquals(List.of("no GPU that is held has been idle for 5m"), lines(Screen.NONE));
    }

    private static GpuStatus status(int gpu, Lease lease, GpuStatus.State state, String note) {
        return Samples.taken(gpu, state, lease, note);
    }

    private static final GpuNotes NOTES =
            new GpuNotes(List.of(BY_NODES, BY_NVML), Map.of(), Samples.NOW);

    @Test
    void noteSaysForHowLong() {
        assertEquals(
                List.of(
                        "no process has had it open for 3h",
                        "pid 1 is stopped; idle for at least 3h, 12.0 GiB held",
                        ""),
                NOTES
                        .on(
                                List.of(
                                        status(2, TRAIN, GpuStatus.State.HELD, ""),
                                        status(1, EVAL, GpuStatus.State.HELD, "pid 1 is stopped"),
                                        status(0, TRAIN, GpuStatus.State.HELD, "")))
                        .stream()
                        .map(GpuStatus::note)
                        .toList());
    }

    /** Its holder was killed and does not end: there is nobody to contact. */
    @Test
    void stuckGpuAndThatOfTheNextLeaseAreNotIdle() {
        assertEquals(Optional.empty(), NOTES.of(status(2, TRAIN, GpuStatus.State.STUCK, "killed")));
        Lease next = Samples.held(3, "train-8", 2);
        assertEquals(Optional.empty(), NOTES.of(status(2, next, GpuStatus.State.HELD, "")));
    }

    @Test
    void explanationNamesWhoCanStopIt() {
        Tenure tenure = new Tenure(Samples.AT_NINE, 0);
        GpuStatus idle = status(2, TRAIN, GpuStatus.State.HELD, "");
        List<String> own =
                new Explanation(idle, _ -> true, Samples.NOW)
                        .held(TRAIN, tenure, "x", NOTES.sentence(idle));
        assertEquals("No process has had it open for 3h.", own.get(3));
        assertTrue(own.getLast().startsWith("To free it: docker stop train-7;"), own::toString);
        GpuStatus busy = status(1, EVAL, GpuStatus.State.HELD, "");
        List<String> others =
                new Explanation(busy, _ -> false, Samples.NOW)
                        .held(EVAL, tenure, "x", NOTES.sentence(busy));
        assertEquals(
                "It has been idle for at least 3h, 12.0 GiB held: its utilization is 0.",
                others.get(3));
        assertTrue(
                others.getLast().startsWith("To get it: contact alice, or wait"), others::toString);
    }

    @Test
    void listOfGpusHasTheNote() {
        List<GpuStatus> noted = NOTES.on(List.of(status(2, TRAIN, GpuStatus.State.HELD, "")));
        String line =
                GpuLs.table(
                                noted,
                                Map.of(1L, new Tenure(Samples.AT_NINE, 0)),
                                NOTES,
                                GpuLs::share,
                                Screen.NONE)
                        .getLast();
        assertTrue(line.endsWith("   3h    no process has had it open for 3h"), line);
    }
}
