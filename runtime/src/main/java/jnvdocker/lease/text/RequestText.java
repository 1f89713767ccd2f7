package jnvdocker.lease.text;

import jnvdocker.host.Gpu;
import jnvdocker.request.GpuFilter;
import jnvdocker.request.GpuRequest;
import jnvdocker.words.Indices;

import java.util.List;

/** Puts a number of requested GPUs into words. */
final class RequestText {
    private RequestText() {}

    /** {@code 2 GPUs of model A100 with at least 40 GB of memory}, {@code 10G of 1 GPU}. */
    static String gpus(GpuRequest.Count request) {
        return gpus(request.gpus(), request.filter());
    }

    static String gpus(int count, GpuFilter filter) {
        return filter.share()
                        .map(share -> share + (count == 1 ? " of " : " of each of "))
                        .orElse("")
                + (count == 1 ? "1 GPU" : count + " GPUs")
                + condition(filter);
    }

    static String condition(GpuFilter filter) {
        return filter.model().map(model -> " of model " + model).orElse("")
                + filter.memory()
                        .map(memory -> " with at least " + memory.words() + " of memory")
                        .orElse("");
    }

    /** {@code this host has only 1 GPU of model A100}. */
    static String have(GpuRequest.Count requested, int gpus) {
        if (requested.filter().isAny()) {
            return "the driver shows " + (gpus == 0 ? "none" : "only " + gpus);
        }
        return "this host has "
                + (gpus == 0
                        ? "no GPU" + condition(requested.filter())
                        : "only " + gpus(gpus, requested.filter()));
    }

    /** {@code NVML does not report the memory of GPUs 0,1}. */
    static String unclear(List<Gpu> gpus) {
        return "NVML does not report the memory of "
                + (gpus.size() == 1 ? "GPU " : "GPUs ")
                + Indices.numbers(gpus.stream().map(Gpu::number));
    }
}
