package jnvdocker.use;

import jnvdocker.host.Gpu;
import jnvdocker.process.OpenDevices;

import java.time.Duration;
import java.util.List;

/** Finds the processes and containers that use GPUs. */
public interface GpuUses {
    /**
     * Every use of these GPUs, by the processes of this moment and the containers that the engine
     * lists now. When it does not answer in that time, those that it listed last are taken.
     */
    List<GpuUse> scan(List<Gpu> gpus, Duration limit);

    /** The uses with the containers that were listed last, so that no engine is waited for. */
    List<GpuUse> scanWithoutEngine(List<Gpu> gpus);

    /**
     * The uses that are known by a process, with the containers that were listed last.
     *
     * @param recent the greatest age at which the last scan of the processes is used again
     */
    default List<GpuUse> processes(List<Gpu> gpus, Duration recent) {
        return scanWithoutEngine(gpus).stream().filter(use -> use.process().isPresent()).toList();
    }

    /**
     * Whether an engine has listed its containers yet: what they were given is not known before.
     * Where there is no engine there is nothing to know.
     */
    default boolean knowsContainers() {
        return true;
    }

    /** The containers that observe GPUs, which is no use of them. */
    default List<Observer> observers() {
        return List.of();
    }

    /** A container has another name now. */
    default void renamed(String container, String name) {}

    /** The processes of the last scan that have more descriptors than are read at once. */
    default List<OpenDevices.Partial> beyond() {
        return List.of();
    }
}
