package jnvdocker.command.gpu.view;

import jnvdocker.core.Leases.GpuProcess;
import jnvdocker.host.Gpu;
import jnvdocker.idle.IdleHolder;
import jnvdocker.idle.IdleText;
import jnvdocker.lease.GpuStatus;
import jnvdocker.lease.Lease;
import jnvdocker.lease.text.LeaseText;
import jnvdocker.nvml.GpuFigures;
import jnvdocker.nvml.GpuMonitor.Reading;

import java.time.Instant;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * What is known of the GPUs that are shown besides their leases, at one moment: which are held and
 * not used, and what NVML reports.
 *
 * @param readings by PCI address; none for a GPU of which NVML reports nothing
 */
public record GpuNotes(List<IdleHolder> holders, Map<String, Reading> readings, Instant now) {
    public static final GpuNotes NONE = new GpuNotes(List.of(), Map.of(), Instant.EPOCH);

    /** The driver itself takes less of the memory. */
    private static final double FILLED = 0.1;

    /** How {@code --json} prints that a held GPU is idle. */
    public record IdleJson(String since, boolean atLeast, String source, Long memory) {
        public static IdleJson of(IdleHolder idle) {
            OptionalLong memory = idle.memory();
            return new IdleJson(
                    idle.since().toString(),
                    idle.atLeast(),
                    idle.source().name().toLowerCase(Locale.ROOT),
                    GpuJson.boxed(memory));
        }
    }

    /**
     * Returns the idle holder; empty, too, for a holder that hangs, which is reported elsewhere.
     */
    public Optional<IdleHolder> of(GpuStatus gpu) {
        long lease = gpu.lease().map(Lease::id).orElse(0L);
        return holders.stream()
                .filter(_ -> gpu.state() == GpuStatus.State.HELD)
                .filter(it -> it.lease().id() == lease && it.gpu().uuid().equals(gpu.gpu().uuid()))
                .findFirst();
    }

    /** Adds it to the GPUs' notes. */
    public List<GpuStatus> on(List<GpuStatus> gpus) {
        return gpus.stream().map(this::on).toList();
    }

    private GpuStatus on(GpuStatus gpu) {
        GpuStatus noted = noteIdle(gpu).beside(gpu.others().stream().map(this::noteIdle).toList());
        return silence(gpu)
                .map(it -> "its driver " + it)
                .or(() -> memoryInUse(gpu).map(it -> "has " + it))
                .map(noted::noting)
                .orElse(noted);
    }

    private GpuStatus noteIdle(GpuStatus gpu) {
        return idle(gpu).map(gpu::noting).orElse(gpu);
    }

    /** Returns {@code no process has had it open for 3h}. */
    public Optional<String> idle(GpuStatus gpu) {
        return of(gpu).map(idle -> IdleText.note(idle, now));
    }

    /** Returns {@code has not answered since 09:12}. */
    private Optional<String> silence(GpuStatus gpu) {
        return reading(gpu.gpu())
                .filter(it -> it.isSilent() && gpu.gpu().isSound())
                .map(it -> "has not answered since " + LeaseText.time(it.at()));
    }

    /** The memory of a free GPU is not free: a process may not be seen, or be gone. */
    private Optional<String> memoryInUse(GpuStatus gpu) {
        return figures(gpu.gpu())
                .flatMap(GpuFigures::memory)
                .filter(_ -> gpu.state() == GpuStatus.State.FREE)
                .filter(memory -> memory.used() > memory.total() * FILLED)
                .map(memory -> FigureText.memory(memory) + " in use");
    }

    /** Returns {@code Its driver has not answered since 09:12.} */
    public Optional<String> ofDriver(GpuStatus gpu) {
        return silence(gpu)
                .map(it -> "Its driver " + it + ".")
                .or(() ->
                        memoryInUse(gpu)
                                .map(it -> "It has " + it + ", though no process is seen."));
    }

    /** Returns what NVML last reported about a GPU, or about a MIG instance. */
    public Optional<Reading> reading(Gpu gpu) {
        return Optional.ofNullable(readings.get(gpu.pciAddress())).map(it -> it.of(gpu));
    }

    /** Returns the figures of a process, which NVML reports of the whole GPU. */
    public Optional<GpuFigures.GpuProcess> process(GpuProcess process) {
        long pid = process.use().process().orElseThrow().id().pid();
        return Optional.ofNullable(readings.get(process.use().gpu().pciAddress()))
                .flatMap(Reading::figures)
                .flatMap(figures ->
                        figures.processes().stream().filter(it -> it.pid() == pid).findFirst());
    }

    /** Returns the figures, unless NVML does not report them. */
    public Optional<GpuFigures> figures(Gpu gpu) {
        return reading(gpu).flatMap(Reading::figures);
    }

    /** Returns {@code No process has had it open for 3h.} */
    public Optional<String> sentence(GpuStatus gpu) {
        return of(gpu).map(idle -> {
            String note = IdleText.note(idle, now);
            return switch (idle.source()) {
                case NODES -> "No" + note.substring("no".length()) + ".";
                case NVML ->
                        "It has been "
                                + note
                                + ": its utilization"
                                + (idle.isShared() ? " by this holder" : "")
                                + " is 0.";
            };
        });
    }
}
