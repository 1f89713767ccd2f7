package jnvdocker.use;

import jnvdocker.host.Gpu;
import jnvdocker.process.OpenDevices;

import java.time.Duration;
import java.util.List;

/** Sees who uses GPUs. */
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
     * @param recent the last look at the processes will do, if it is not older than that
     */
    default List<GpuUse> processes(List<Gpu> gpus, Duration recent) {
        return scanWithoutEngine(gpus).stream().filter(use -> use.process().isPresent()).toList();
    }

    /**
     * Whether an engine has listed its containers since we began to look: what they were given is
     * not known before. Where there is no engine there is nothing to know.
     */
    default boolean knowsContainers() {
        return true;
    }

    /** The processes of the last look that have more descriptors than are looked at at once. */
    default List<OpenDevices.Partial> beyond() {
        return List.of();
    }
}
