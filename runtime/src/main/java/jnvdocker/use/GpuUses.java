package jnvdocker.use;

import jnvdocker.host.Gpu;

import java.time.Duration;
import java.util.List;

/** Sees who uses GPUs. */
public interface GpuUses {
    /**
     * Every use of these GPUs, by the processes of this moment and the containers that the engine
     * lists now. When it does not answer in that time, those that it listed last are taken.
     */
    List<GpuUse> look(List<Gpu> gpus, Duration limit);

    /** The same with the containers that were listed last, so that it waits for nobody. */
    List<GpuUse> lookWithoutEngine(List<Gpu> gpus);
}
