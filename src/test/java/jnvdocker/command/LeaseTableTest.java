package jnvdocker.command;

import static org.junit.jupiter.api.Assertions.assertEquals;

import jnvdocker.lease.GpuStatus;
import jnvdocker.lease.Refusals;

import org.junit.jupiter.api.Test;

import java.util.List;

class LeaseTableTest {
    private static final String NINE = Refusals.time(Samples.AT_NINE);

    @Test
    void lineSaysWhoHoldsWhatSinceWhen() {
        LeaseTable table = LeaseTable.ofLive(Samples.NOW);
        table.live(Samples.held(12, "train-7", 0, 2), GpuStatus.State.HELD);
        assertEquals(
                List.of("12", "000000000ccc", "alice", "train-7", "0,2", "HELD", NINE, "3h"),
                cells(table.lines(Screen.NONE).get(1)));
    }

    @Test
    void endHasItsEvidence() {
        LeaseTable table = LeaseTable.withEnds(Samples.NOW);
        table.live(Samples.held(12, "train-8", 1), GpuStatus.State.STUCK);
        var end = Samples.AT_NINE.plusSeconds(90);
        table.past(Samples.ended(11, "train-7", end, "it is gone", 0));
        assertEquals(
                List.of("3h", "-", "-"), cells(table.lines(Screen.NONE).get(1)).subList(7, 10));
        assertEquals(
                List.of("ENDED", NINE, "1m", Refusals.time(end), "it is gone"),
                cells(table.lines(Screen.NONE).get(2)).subList(5, 10));
    }

    private static List<String> cells(String line) {
        return List.of(line.split(" {3,}"));
    }
}
