package jnvdocker.host;

import jnvdocker.words.Refusal;

import java.time.Instant;
import java.util.List;
import java.util.Optional;

/** The faults for which GPUs are not given out, as they are known by now. Nothing is waited for. */
@FunctionalInterface
public interface GpuTroubles {
    GpuTroubles NONE = _ -> Optional.empty();

    Optional<Refusal> of(Gpu gpu);

    /** When a GPU got its fault; empty where that is not known. */
    default Optional<Instant> since(Gpu gpu) {
        return Optional.empty();
    }

    /**
     * Root says that a GPU was reset, or has no fault. A fault that is there stays all the same.
     */
    default void clearReportedFault(Gpu gpu) {}

    /**
     * Adds a listener that runs whenever a GPU has a fault, or has it no more, on the thread that
     * finds it: it must not wait for anything.
     */
    default void addListener(Runnable listener) {}

    /** Copies of GPUs, each with its fault. */
    default List<Gpu> mark(List<Gpu> gpus) {
        return gpus.stream().map(this::mark).toList();
    }

    private Gpu mark(Gpu gpu) {
        return gpu.isSound() ? of(gpu).map(fault -> gpu.with(fault, since(gpu))).orElse(gpu) : gpu;
    }
}
