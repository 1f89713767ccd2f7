package jnvdocker.command.gpu.view;

import static org.junit.jupiter.api.Assertions.assertEquals;

import jnvdocker.lease.GpuStatus;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Tenure;
import jnvdocker.lease.text.LeaseText;
import jnvdocker.screen.Screen;
import jnvdocker.screen.TextTable;

import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

class LeaseRowTest {
    private static final String NINE = LeaseText.time(Samples.AT_NINE);
    private static final Tenure ONCE = new Tenure(Samples.AT_NINE, 0);

    @Test
    void lineSaysWhoHoldsWhatSinceWhen() throws IOException {
        TextTable<LeaseRow> table = LeaseRow.ofLive(Samples.NOW);
        LeaseRow live =
                LeaseRow.live(Samples.held(12, "train-7", 0, 2), GpuStatus.State.HELD, ONCE);
        assertEquals(
                List.of("12", "000000000ccc", "alice", "train-7", "0,2", "HELD", NINE, "3h"),
                cells(lines(table, visitor -> visitor.visit(live)).get(1)));
    }

    @Test
    void ageIsThatOfAContainerThatWasRestarted() throws IOException {
        TextTable<LeaseRow> table = LeaseRow.ofLive(Samples.NOW);
        Tenure tenure = new Tenure(Samples.NOW.minus(Duration.ofDays(2)), 3);
        LeaseRow live = LeaseRow.live(Samples.held(12, "train-7", 0), GpuStatus.State.HELD, tenure);
        assertEquals(
                List.of("HELD", NINE, "2d", "restarted 3 times"),
                cells(lines(table, visitor -> visitor.visit(live)).get(1)).subList(5, 9));
    }

    @Test
    void endHasItsEvidence() throws IOException {
        TextTable<LeaseRow> table = LeaseRow.withEnds(Samples.NOW);
        LeaseRow live = LeaseRow.live(Samples.held(12, "train-8", 1), GpuStatus.State.STUCK, ONCE);
        var end = Samples.AT_NINE.plusSeconds(90);
        Lease past = Samples.ended(11, "train-7", end, "it is gone", 0);
        List<String> lines = table.lines(List.of(live, LeaseRow.past(past)), Screen.NONE);
        assertEquals(List.of("3h", "-", "-"), cells(lines.get(1)).subList(7, 10));
        assertEquals(
                List.of("ENDED", NINE, "1m", LeaseText.time(end), "it is gone"),
                cells(lines.get(2)).subList(5, 10));
    }

    /** Prints far more leases than are kept. */
    @Test
    void rowsAreAsWideAsTheWidestOfAll() throws IOException {
        List<String> lines =
                lines(
                        LeaseRow.withEnds(Samples.NOW),
                        visitor -> {
                            for (int i = 0; i < 3000; i++) {
                                String name = i == 2999 ? "a-long-name" : "x";
                                visitor.visit(
                                        LeaseRow.past(
                                                Samples.ended(i + 1, name, Samples.NOW, "", 0)));
                            }
                        });
        assertEquals(3001, lines.size());
        int gpus = lines.getFirst().indexOf("GPUS");
        lines.forEach(line -> assertEquals("   ", line.substring(gpus - 3, gpus), line));
    }

    private static List<String> lines(TextTable<LeaseRow> table, TextTable.Rows<LeaseRow> rows)
            throws IOException {
        List<String> lines = new ArrayList<>();
        table.print(rows, Screen.NONE, lines::add);
        return lines;
    }

    private static List<String> cells(String line) {
        return List.of(line.split(" {3,}"));
    }
}
