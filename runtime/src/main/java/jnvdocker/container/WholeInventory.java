package jnvdocker.container;

import jnvdocker.host.Gpu;
import jnvdocker.labels.RefusedException;

import java.util.List;

/** Gives out every GPU that the host has, to whoever asks; a count gets the lowest indices. */
public final class WholeInventory implements GpuAllocator {

    @Override
    public List<Gpu> allocate(GpuRequest request, List<Gpu> gpus) throws RefusedException {
        return switch (request) {
            case GpuRequest.None _ -> List.of();
            case GpuRequest.All _ -> all(gpus);
            case GpuRequest.Count(int count) -> first(count, gpus);
            case GpuRequest.Devices(List<String> ids) -> GpuResolver.resolve(ids, gpus);
        };
    }

    private static List<Gpu> all(List<Gpu> gpus) throws RefusedException {
        if (gpus.isEmpty()) {
            throw new RefusedException(
                    "the driver shows no GPU on this host; the kernel's log says why (dmesg | grep"
                            + " -i nvrm)");
        }
        return gpus;
    }

    private static List<Gpu> first(int count, List<Gpu> gpus) throws RefusedException {
        if (count > gpus.size()) {
            throw new RefusedException(
                    count
                            + " GPUs are asked for, and this host has "
                            + gpus.size()
                            + "; ask for fewer ('jnvdocker gpu ls' shows them)");
        }
        return gpus.subList(0, count);
    }
}
