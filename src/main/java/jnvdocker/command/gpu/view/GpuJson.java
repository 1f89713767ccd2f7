package jnvdocker.command.gpu.view;

import com.fasterxml.jackson.annotation.JsonUnwrapped;

import jnvdocker.host.DeviceNodes;
import jnvdocker.host.Gpu;
import jnvdocker.host.Part;
import jnvdocker.lease.GpuStatus;
import jnvdocker.lease.Lease;
import jnvdocker.nvml.GpuFigures;

import java.time.Instant;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;

/** A GPU as {@code ls} and {@code why} print it. */
public record GpuJson(
        int index,
        Integer instance,
        String uuid,
        String parent,
        String model,
        String node,
        String pciAddress,
        String state,
        String idleSince,
        String stateSince,
        Long lease,
        String since,
        String due,
        boolean overdue,
        @JsonUnwrapped HolderJson holder,
        Long shareBytes,
        List<ShareJson> shares,
        FiguresJson figures,
        GpuNotes.IdleJson idle,
        String note) {

    /** In percent, bytes, degrees Celsius and watts; null for what the driver does not report. */
    public record FiguresJson(
            Integer utilization,
            Long memoryUsed,
            Long memoryTotal,
            Integer temperature,
            Double power) {

        public static FiguresJson of(GpuFigures figures) {
            OptionalInt power = figures.power();
            return new FiguresJson(
                    boxed(figures.utilization().gpu()),
                    figures.memory().map(GpuFigures.Memory::used).orElse(null),
                    figures.memory().map(GpuFigures.Memory::total).orElse(null),
                    boxed(figures.temperature()),
                    power.isPresent() ? power.getAsInt() / 1000.0 : null);
        }
    }

    /**
     * A share of the GPU.
     *
     * @param holding the lease that it is held under
     * @param idle of its holder, who may use the GPU while others do not
     */
    public record ShareJson(@JsonUnwrapped LeaseJson holding, GpuNotes.IdleJson idle) {
        private static ShareJson of(GpuStatus share, GpuNotes notes) {
            return new ShareJson(
                    LeaseJson.begun(share.lease().orElseThrow(), share.state()),
                    idleJson(share, notes));
        }
    }

    private static GpuNotes.IdleJson idleJson(GpuStatus status, GpuNotes notes) {
        return notes.of(status).map(GpuNotes.IdleJson::of).orElse(null);
    }

    public static Integer boxed(OptionalInt number) {
        return number.isPresent() ? number.getAsInt() : null;
    }

    public static Long boxed(OptionalLong number) {
        return number.isPresent() ? number.getAsLong() : null;
    }

    public static GpuJson of(GpuStatus status, GpuNotes notes) {
        Gpu gpu = status.gpu();
        boolean missing = status.state() == GpuStatus.State.MISSING;
        boolean known = gpu.isIdentified();
        Optional<Lease> lease = status.lease();
        int holders = status.each().size();
        String note = (holders > 1 ? status.noting("shared by " + holders) : status).note();
        return new GpuJson(
                gpu.index(),
                gpu.part().map(Part::number).orElse(null),
                known ? gpu.uuid() : null,
                gpu.part().map(Part::parent).orElse(null),
                missing || !known ? null : gpu.model(),
                known ? DeviceNodes.nameOf(gpu) : null,
                missing ? null : gpu.pciAddress(),
                word(status.state()),
                status.idleSince().map(Instant::toString).orElse(null),
                status.stateSince().map(Instant::toString).orElse(null),
                lease.map(Lease::id).orElse(null),
                lease.map(Lease::since).map(Instant::toString).orElse(null),
                lease.flatMap(Lease::due).map(Instant::toString).orElse(null),
                lease.filter(it -> it.isOverdue(Instant.now())).isPresent(),
                holder(status),
                status.share().map(its -> its.amount().bytes()).orElse(null),
                status.each().stream()
                        .filter(its -> its.share().isPresent())
                        .map(its -> ShareJson.of(its, notes))
                        .toList(),
                notes.figures(gpu).map(FiguresJson::of).orElse(null),
                idleJson(status, notes),
                note.isEmpty() ? null : note);
    }

    /** Returns what concerns the GPU alone: no holder, and nothing that a holder wrote. */
    public GpuJson nameless() {
        return new GpuJson(
                index,
                instance,
                uuid,
                parent,
                model,
                node,
                pciAddress,
                state,
                idleSince,
                stateSince,
                lease,
                since,
                due,
                overdue,
                HolderJson.NOBODY,
                null,
                List.of(),
                figures,
                idle,
                null);
    }

    public static HolderJson holder(GpuStatus status) {
        return status.user()
                .map(HolderJson::of)
                .or(() -> status.lease().map(HolderJson::of))
                .orElse(HolderJson.NOBODY);
    }

    public static String word(GpuStatus.State state) {
        return state.name().toLowerCase(Locale.ROOT);
    }
}
