package jnvdocker.oci.spec;

import jnvdocker.request.DeviceRequest;
import jnvdocker.request.GpuRequest;
import jnvdocker.words.RefusedException;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * The requests of {@code docker run --gpus} and compose's {@code devices} in docker's own words.
 */
final class DeviceRequests {
    private DeviceRequests() {}

    /**
     * Empty when no GPU is requested.
     *
     * @param cdi whether names of CDI devices count: of these the engine has given the container
     *     the nodes, by which they are known unless it has every node
     */
    static Optional<GpuRequest> of(List<DeviceRequest> requests, boolean cdi)
            throws RefusedException {
        Optional<GpuRequest> all = Optional.empty();
        for (DeviceRequest request : requests) {
            if (request.isOfGpus() || cdi && request.isCdiOfGpus()) {
                GpuRequest one = request.gpus();
                all = Optional.of(all.isPresent() ? both(all.get(), one) : one);
            }
        }
        return all;
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
            return new DeviceRequest("", 0, Optional.of(ids), List.of()).gpus();
        }
        throw new RefusedException(
                "this container requests a number of GPUs in one request and certain ones in"
                        + " another",
                "make it one request");
    }
}
