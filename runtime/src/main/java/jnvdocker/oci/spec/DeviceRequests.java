package jnvdocker.oci.spec;

import jnvdocker.request.GpuRequest;
import jnvdocker.request.GpuResolver;
import jnvdocker.words.Quote;
import jnvdocker.words.RefusedException;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * The requests of {@code docker run --gpus} and compose's {@code devices} in docker's own words.
 */
final class DeviceRequests {
    private DeviceRequests() {}

    /** Empty when no GPU is requested. Of CDI devices the engine has given the nodes already. */
    static Optional<GpuRequest> of(List<DockerContainer.Request> requests) throws RefusedException {
        Optional<GpuRequest> all = Optional.empty();
        for (DockerContainer.Request request : requests) {
            boolean nvidias = request.driver().isEmpty() || request.driver().equals("nvidia");
            if (nvidias && request.ofGpus()) {
                GpuRequest one = of(request);
                all = Optional.of(all.isPresent() ? both(all.get(), one) : one);
            }
        }
        return all;
    }

    /** compose 1.29 sends an empty list where nobody has said how many; --gpus 0 sends none. */
    private static GpuRequest of(DockerContainer.Request request) throws RefusedException {
        if (request.count() < 0) {
            return new GpuRequest.All();
        }
        if (request.count() > 0) {
            return new GpuRequest.Count(request.count());
        }
        if (request.ids().isEmpty()) {
            return new GpuRequest.None();
        }
        List<String> ids = request.ids().get();
        if (ids.isEmpty()) {
            return new GpuRequest.All();
        }
        return ids.equals(List.of("all")) ? new GpuRequest.All() : devices(ids);
    }

    private static GpuRequest devices(List<String> ids) throws RefusedException {
        try {
            return new GpuRequest.Devices(
                    ids.stream().flatMap(id -> GpuResolver.ids(id).stream()).toList());
        } catch (IllegalArgumentException e) {
            throw new RefusedException(
                    "its device ids do not name GPUs: " + Quote.quoted(String.join(",", ids)),
                    "write indexes or UUIDs, as 'jnvdocker gpu ls' shows them");
        }
    }

    private static GpuRequest both(GpuRequest one, GpuRequest other) throws RefusedException {
        if (one instanceof GpuRequest.All || other instanceof GpuRequest.All) {
            return new GpuRequest.All();
        }
        if (one instanceof GpuRequest.None) {
            return other;
        }
        if (other instanceof GpuRequest.None) {
            return one;
        }
        if (one instanceof GpuRequest.Count(int first, _)
                && other instanceof GpuRequest.Count(int second, _)) {
            return new GpuRequest.Count((int) Math.min(Integer.MAX_VALUE, (long) first + second));
        }
        if (one instanceof GpuRequest.Devices(List<String> first)
                && other instanceof GpuRequest.Devices(List<String> second)) {
            List<String> ids = new ArrayList<>(first);
            ids.addAll(second);
            return devices(ids);
        }
        throw new RefusedException(
                "this container requests a number of GPUs in one request and certain ones in"
                        + " another",
                "make it one request");
    }
}
