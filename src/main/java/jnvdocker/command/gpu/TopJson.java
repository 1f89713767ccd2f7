package jnvdocker.command.gpu;

import com.fasterxml.jackson.annotation.JsonUnwrapped;

import jnvdocker.core.Leases.Activity;
import jnvdocker.core.Leases.GpuProcess;
import jnvdocker.lease.Lease;
import jnvdocker.nvml.GpuFigures;
import jnvdocker.use.GpuUse;

import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Optional;

/** A GPU and the processes that have it open, as {@code top} prints them. */
record TopJson(@JsonUnwrapped GpuJson gpu, List<ProcessJson> processes) {

    /** In percent and bytes; null for what the driver does not report. */
    record ProcessJson(
            int pid,
            String command,
            String user,
            Long uid,
            Long lease,
            String containerId,
            String containerName,
            Integer utilization,
            Long memory,
            String since) {

        private static ProcessJson of(GpuProcess process, GpuNotes notes) {
            GpuUse.User user = process.use().process().orElseThrow();
            Optional<GpuFigures.GpuProcess> figures = notes.process(process);
            HolderJson holder =
                    process.lease()
                            .map(HolderJson::of)
                            .orElseGet(() -> HolderJson.of(process.use()));
            return new ProcessJson(
                    user.id().pid(),
                    user.name(),
                    holder.user(),
                    holder.uid(),
                    process.lease().map(Lease::id).orElse(null),
                    holder.containerId(),
                    holder.containerName(),
                    figures.map(it -> GpuJson.boxed(it.utilization())).orElse(null),
                    figures.map(it -> GpuJson.boxed(it.memory())).orElse(null),
                    GpuTop.since(user.id()).truncatedTo(ChronoUnit.SECONDS).toString());
        }
    }

    static List<TopJson> of(Activity activity, GpuNotes notes) {
        return notes.on(activity.gpus()).stream()
                .map(gpu ->
                        new TopJson(
                                GpuJson.of(gpu, notes),
                                activity.processes().stream()
                                        .filter(it -> it.use().gpu().equals(gpu.gpu()))
                                        .map(it -> ProcessJson.of(it, notes))
                                        .toList()))
                .toList();
    }
}
