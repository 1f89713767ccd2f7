package jnvdocker.command.gpu.history;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.command.gpu.JsonSchemas;
import jnvdocker.command.gpu.view.Samples;
import jnvdocker.decision.RecentRefusals.Refused;
import jnvdocker.lease.Owner;
import jnvdocker.lease.text.LeaseText;
import jnvdocker.screen.Json;
import jnvdocker.screen.Screen;

import org.junit.jupiter.api.Test;

import java.util.List;

class GpuRefusalsTest {
    private static final Owner ALICE = new Owner(1000, "alice");

    private static final List<Refused> REFUSED =
            List.of(
                    new Refused(Samples.AT_NINE, ALICE, "container train-7", "no GPU is free"),
                    new Refused(
                            Samples.AT_NINE, Owner.UNKNOWN, "container x\u001b[2J", "1 requested"));

    @Test
    void lineSaysWhatWasRefusedAndWhy() {
        String nine = LeaseText.time(Samples.AT_NINE);
        assertEquals(
                List.of(
                        List.of("AT", "USER", "FOR", "WHY"),
                        List.of(nine, "alice", "container train-7", "no GPU is free"),
                        List.of(nine, "somebody", "container x\\u{1b}[2J", "1 requested")),
                GpuRefusals.listing(REFUSED).lines(Screen.NONE).stream()
                        .map(line -> List.of(line.split(" {3,}")))
                        .toList());
        assertEquals(
                List.of("no request for GPUs was refused since the daemon started"),
                GpuRefusals.listing(List.of()).lines(Screen.NONE));
    }

    /** It names holders, and ends with what to do. */
    @Test
    void longReasonIsShownWhole() {
        String why = "no GPU is free: ".repeat(20) + "wait\u001b[2J with --gpu-wait";
        Refused refused = new Refused(Samples.AT_NINE, ALICE, "container train-7", why);
        List<String> lines = GpuRefusals.listing(List.of(refused)).lines(Screen.NONE);
        assertTrue(lines.getLast().endsWith("wait\\u{1b}[2J with --gpu-wait"), lines::toString);
        assertEquals(2, lines.size());
    }

    @Test
    void jsonHasEveryKey() {
        List<GpuRefusals.Entry> entries = GpuRefusals.entries(REFUSED);
        JsonSchemas.check("gpu-refusals", Json.text(entries));
        assertEquals(
                "{'at':'2026-03-05T09:00:00Z','user':'alice','uid':1000,'purpose':'container"
                        + " train-7','why':'no GPU is free'}",
                Json.line(entries.getFirst()).replace('"', '\''));
    }

    @Test
    void othersAreNotShown() {
        assertTrue(GpuRefusals.isFor(ALICE, ALICE));
        assertTrue(GpuRefusals.isFor(ALICE, Owner.guessed("bob")));
        assertFalse(GpuRefusals.isFor(ALICE, new Owner(1001, "bob")));
        assertFalse(GpuRefusals.isFor(ALICE, Owner.KUBERNETES));
    }
}
