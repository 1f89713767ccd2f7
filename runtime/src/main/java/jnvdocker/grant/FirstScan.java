package jnvdocker.grant;

import jnvdocker.holder.Pace;
import jnvdocker.holder.UnmanagedScan;
import jnvdocker.host.Gpu;
import jnvdocker.use.GpuUse;

import java.io.IOException;
import java.util.List;
import java.util.function.Supplier;

/**
 * What a request sees of the host at first: the GPUs, which were read after it had come, and their
 * uses, which are scanned for while it is found out what it requests.
 */
public final class FirstScan {
    private final List<Gpu> gpus;
    private final Supplier<List<GpuUse>> uses;

    /**
     * @param uses of these GPUs, as {@link UnmanagedScan#scanWithoutEngine} sees them
     */
    public FirstScan(List<Gpu> gpus, Supplier<List<GpuUse>> uses) {
        this.gpus = List.copyOf(gpus);
        this.uses = uses;
    }

    List<Gpu> gpus() {
        return gpus;
    }

    /** Returns the uses of these GPUs; waits until the scan is done. */
    List<GpuUse> uses() throws IOException {
        return Pace.taken(uses);
    }
}
