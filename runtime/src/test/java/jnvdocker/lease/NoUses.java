package jnvdocker.lease;

import jnvdocker.host.Gpu;
import jnvdocker.use.GpuUse;
import jnvdocker.use.GpuUses;

import java.time.Duration;
import java.util.List;

/** A machine on which nobody uses a GPU but those who have a lease. */
final class NoUses implements GpuUses {
    @Override
    public List<GpuUse> look(List<Gpu> gpus, Duration limit) {
        return List.of();
    }

    @Override
    public List<GpuUse> lookWithoutEngine(List<Gpu> gpus) {
        return List.of();
    }
}
