package jnvdocker.command.gpu.show;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;

import jnvdocker.command.gpu.JsonSchemas;
import jnvdocker.command.gpu.view.GpuJson;
import jnvdocker.command.gpu.view.GpuNotes;
import jnvdocker.command.gpu.view.Samples;
import jnvdocker.core.Leases.GpuProcess;
import jnvdocker.idle.IdleHolder;
import jnvdocker.lease.Claim;
import jnvdocker.lease.ClaimedGpu;
import jnvdocker.lease.GpuStatus;
import jnvdocker.lease.IdleSource;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Owner;
import jnvdocker.lease.Share;
import jnvdocker.lease.Tenure;
import jnvdocker.posix.ProcessId;
import jnvdocker.request.MemorySize;
import jnvdocker.screen.Json;
import jnvdocker.screen.Screen;
import jnvdocker.use.GpuUse;

import org.junit.jupiter.api.Test;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;

/** A GPU of which two users have shares. */
class SharedGpuTest {
    private static final Lease ALICES = share(1, "notebook", new Owner(1000, "alice"), 10);
    private static final Lease BOBS = share(2, "infer", new Owner(1001, "bob"), 18);
    private static final Map<Long, Tenure> TENURES =
            Map.of(1L, new Tenure(Samples.AT_NINE, 0), 2L, new Tenure(Samples.AT_NINE, 0));
    private static final GpuStatus SHARED = status(ALICES).beside(List.of(status(BOBS)));

    private static Lease share(long id, String name, Owner owner, int amount) {
        Lease whole = Samples.of(Samples.held(id, name, 1), owner);
        Claim claim = whole.claim();
        Share share = new Share(new MemorySize(amount, "G"), 40L << 30);
        return new Lease(
                id,
                new Claim(
                        claim.key(),
                        claim.origin(),
                        owner,
                        List.of(ClaimedGpu.of(Samples.gpu(1), Optional.of(share))),
                        claim.created(),
                        claim.container()),
                whole.holder(),
                whole.boot(),
                whole.since(),
                Optional.empty(),
                1,
                Optional.empty());
    }

    private static GpuStatus status(Lease lease) {
        return Samples.taken(1, GpuStatus.State.HELD, lease, "");
    }

    /** Where bob's one process uses so many bytes. */
    private static List<String> top(long memory) {
        GpuUse.User user =
                new GpuUse.User(new ProcessId(4712, 5), "python3", 1001, Optional.empty());
        GpuUse use =
                new GpuUse(Samples.gpu(1), GpuUse.Kind.OPEN, Optional.empty(), Optional.of(user));
        GpuTop.Shares shares =
                new GpuTop.Shares(
                        List.of(new GpuProcess(use, Optional.of(BOBS))),
                        _ -> OptionalLong.of(memory));
        return GpuLs.table(
                List.of(shares.noteExcess(SHARED)),
                TENURES,
                GpuNotes.NONE,
                shares::text,
                Screen.NONE);
    }

    @Test
    void eachShareHasARowOnANarrowTerminal() {
        GpuNotes notes = new GpuNotes(List.of(), Map.of(), Samples.NOW);
        List<String> lines =
                GpuLs.table(
                        List.of(SHARED, Samples.free(2, Optional.empty())),
                        TENURES,
                        notes,
                        GpuLs::share,
                        new Screen(80, 0, false, false, false));
        assertEquals(
                List.of(
                        "GPU   UUID           MODEL            STATE   USER    CONTAINER   AGE  "
                                + " SHARE",
                        "1     GPU-5c1a1001   A100-SXM4-40GB   HELD    alice   notebook    3h   "
                                + " 10G",
                        "1     GPU-5c1a1001   A100-SXM4-40GB   HELD    bob     infer       3h   "
                                + " 18G",
                        "2     GPU-5c1a2002   A100-SXM4-40GB   FREE    -       -           -    "
                                + " -"),
                lines.stream().map(String::stripTrailing).toList());
    }

    private static IdleHolder idle(Lease lease, IdleSource source, OptionalLong memory) {
        return new IdleHolder(
                Samples.gpu(1),
                lease,
                true,
                source,
                Samples.AT_NINE,
                false,
                Optional.empty(),
                memory);
    }

    @Test
    void eachShareHasItsOwnIdleTime() {
        IdleHolder bobs = idle(BOBS, IdleSource.NODES, OptionalLong.empty());
        IdleHolder alices = idle(ALICES, IdleSource.NVML, OptionalLong.of(12L << 30));
        GpuNotes notes = new GpuNotes(List.of(alices, bobs), Map.of(), Samples.NOW);
        GpuStatus noted = notes.on(List.of(SHARED)).getFirst();
        assertEquals("idle for 3h, 12.0 GiB held", noted.note());
        assertEquals(
                "no process of this holder has had it open for 3h",
                noted.others().getFirst().note());
        assertEquals(
                Optional.of(
                        "It has been idle for 3h, 12.0 GiB held: its utilization by this holder is"
                                + " 0."),
                notes.sentence(SHARED));
        List<String> lines =
                GpuIdle.listing(List.of(alices, bobs), Duration.ofMinutes(5), Samples.NOW)
                        .lines(Screen.NONE);
        assertTrue(
                lines.get(1).matches("1 +alice .* utilization 0 by this holder"), lines::toString);
        assertTrue(
                lines.get(2).matches("1 +bob .* no process of this holder has it open"),
                lines::toString);
    }

    /** Alice computes meanwhile. */
    @Test
    void idleTimeOfTheSecondShareIsInTheDocument() throws Exception {
        IdleHolder bobs = idle(BOBS, IdleSource.NODES, OptionalLong.empty());
        GpuNotes notes = new GpuNotes(List.of(bobs), Map.of(), Samples.NOW);
        String json = Json.line(List.of(GpuJson.of(SHARED, notes)));
        JsonSchemas.check("gpu-ls", json);
        JsonNode gpu = new ObjectMapper().readTree(json).path(0);
        assertTrue(gpu.path("idle").isNull(), json);
        assertTrue(gpu.path("shares").path(0).path("idle").isNull(), json);
        assertEquals(
                "2026-03-05T09:00:00Z",
                gpu.path("shares").path(1).path("idle").path("since").asText());
    }

    @Test
    void topMarksAHolderThatUsesMoreThanItsShare() {
        List<String> within = top(16L << 30);
        assertTrue(within.get(1).endsWith("   10G"), within::toString);
        assertTrue(within.get(2).endsWith("   16.0/16.8 GiB"), within::toString);
        List<String> beyond = top(17L << 30);
        assertTrue(
                beyond.get(2).endsWith("   17.0/16.8 GiB   uses more than its share"),
                beyond::toString);
    }

    @Test
    void eachLeaseIsInTheDocument() {
        String json = Json.line(List.of(GpuJson.of(SHARED, GpuNotes.NONE)));
        JsonSchemas.check("gpu-ls", json);
        assertTrue(json.contains("\"share_bytes\":10000000000,\"shares\":[{\"lease\":1,"), json);
        assertTrue(json.contains("\"share_bytes\":18000000000}]"), json);
    }

    @Test
    void aLeaseOfSeveralIsShownAlone() {
        GpuStatus bobs = SHARED.under(BOBS);
        assertEquals(Optional.of(BOBS), bobs.lease());
        assertEquals(
                List.of(Optional.of(ALICES)),
                bobs.others().stream().map(GpuStatus::lease).toList());
    }
}
