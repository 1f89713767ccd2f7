package jnvdocker.command.gpu;

import com.fasterxml.jackson.annotation.JsonUnwrapped;

import jnvdocker.host.DeviceNodes;
import jnvdocker.host.Gpu;
import jnvdocker.lease.GpuStatus;
import jnvdocker.lease.Lease;

import java.time.Instant;
import java.util.Locale;
import java.util.Optional;

/** A GPU as {@code ls} and {@code why} print it. */
record GpuJson(
        int index,
        String uuid,
        String model,
        String node,
        String pciAddress,
        String state,
        String idleSince,
        Long lease,
        String since,
        @JsonUnwrapped HolderJson holder,
        String note) {

    static GpuJson of(GpuStatus status) {
        Gpu gpu = status.gpu();
        boolean missing = status.state() == GpuStatus.State.MISSING;
        boolean sound = gpu.isSound();
        Optional<Lease> lease = status.lease();
        return new GpuJson(
                gpu.index(),
                sound ? gpu.uuid() : null,
                missing || !sound ? null : gpu.model(),
                sound ? DeviceNodes.nameOf(gpu) : null,
                missing ? null : gpu.pciAddress(),
                word(status.state()),
                status.idleSince().map(Instant::toString).orElse(null),
                lease.map(Lease::id).orElse(null),
                lease.map(Lease::since).map(Instant::toString).orElse(null),
                holder(status),
                status.note().isEmpty() ? null : status.note());
    }

    private static HolderJson holder(GpuStatus status) {
        return status.user()
                .map(HolderJson::of)
                .or(() -> status.lease().map(HolderJson::of))
                .orElse(HolderJson.NOBODY);
    }

    static String word(GpuStatus.State state) {
        return state.name().toLowerCase(Locale.ROOT);
    }
}
