package jnvdocker.oci.spec;

import jnvdocker.container.DriverCapabilities;
import jnvdocker.request.GpuRequest;

import java.util.List;
import java.util.Map;
import java.util.Set;

/** What a request for all GPUs means: to observe them, or what the configuration has it mean. */
final class AllGpus {
    private AllGpus() {}

    /**
     * @param environment the variables of the container, the image's included
     * @param observes whether its image observes, whatever capabilities it requests
     */
    static GpuWish meant(
            GpuWish wish,
            Map<String, String> environment,
            boolean observes,
            GpuWishes.Settings settings) {
        return switch (wish) {
            case GpuWish.Gpus(
                            GpuRequest.All all,
                            GpuWish.Source source,
                            Set<Integer> named,
                            List<String> capabilities) -> {
                // What an image gets is in the configuration itself.
                GpuRequest request = source == GpuWish.Source.IMAGE ? all : settings.means(all);
                GpuWish gpus = new GpuWish.Gpus(request, source, named, capabilities);
                boolean only =
                        capabilities.isEmpty()
                                ? DriverCapabilities.onlyObserve(environment)
                                : DriverCapabilities.onlyObserve(capabilities);
                yield observes || only ? new GpuWish.Observing(gpus) : gpus;
            }
            case GpuWish.Claimed(_, GpuRequest.All _, _)
                    when observes || DriverCapabilities.onlyObserve(environment) ->
                    new GpuWish.Observing(wish);
            case GpuWish.Gpus _,
                    GpuWish.Claimed _,
                    GpuWish.ClaimVolume _,
                    GpuWish.Nodes _,
                    GpuWish.Observing _,
                    GpuWish.Nothing _,
                    GpuWish.Withheld _ ->
                    wish;
        };
    }
}
