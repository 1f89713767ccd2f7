package jnvdocker.grant;

import jnvdocker.holder.UnmanagedScan;
import jnvdocker.host.Gpu;
import jnvdocker.use.GpuUse;

import java.util.List;
import java.util.function.Supplier;

/**
 * What a request sees of the host at first: the GPUs, which were read after it had come, and their
 * uses, which are scanned for while it is found out what it requests.
 *
 * @param forced how many leases had been ended by force when the scan began
 * @param uses of these GPUs, as {@link UnmanagedScan#scanWithoutEngine} sees them; it waits until
 *     the scan is done
 */
public record FirstScan(List<Gpu> gpus, long forced, Supplier<List<GpuUse>> uses) {
    public FirstScan {
        gpus = List.copyOf(gpus);
    }
}
