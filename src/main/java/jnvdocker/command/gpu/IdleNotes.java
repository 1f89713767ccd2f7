package jnvdocker.command.gpu;

import jnvdocker.idle.IdleHolder;
import jnvdocker.idle.IdleText;
import jnvdocker.lease.GpuStatus;
import jnvdocker.lease.Lease;

import java.time.Instant;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalLong;

/** Says which of the GPUs that are shown are held and not used. */
record IdleNotes(List<IdleHolder> holders, Instant now) {
    static final IdleNotes NONE = new IdleNotes(List.of(), Instant.EPOCH);

    /** How {@code --json} prints that a held GPU is idle. */
    record IdleJson(String since, boolean atLeast, String source, Long memory) {
        static IdleJson of(IdleHolder idle) {
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
    Optional<IdleHolder> of(GpuStatus gpu) {
        long lease = gpu.lease().map(Lease::id).orElse(0L);
        return holders.stream()
                .filter(_ -> gpu.state() == GpuStatus.State.HELD)
                .filter(it -> it.lease().id() == lease && it.gpu().uuid().equals(gpu.gpu().uuid()))
                .findFirst();
    }

    /** Adds it to the GPUs' notes. */
    List<GpuStatus> on(List<GpuStatus> gpus) {
        return gpus.stream()
                .map(gpu -> of(gpu).map(idle -> gpu.noting(IdleText.note(idle, now))).orElse(gpu))
                .toList();
    }

    /** Returns {@code No process has had it open for 3h.} */
    Optional<String> sentence(GpuStatus gpu) {
        return of(gpu).map(idle -> {
            String note = IdleText.note(idle, now);
            return switch (idle.source()) {
                case NODES -> "No" + note.substring("no".length()) + ".";
                case NVML -> "It has been " + note + ": its utilization is 0.";
            };
        });
    }
}
