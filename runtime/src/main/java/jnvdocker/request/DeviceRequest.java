package jnvdocker.request;

import jnvdocker.words.Quote;
import jnvdocker.words.Refusal;

import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * A request for devices as docker's API has it: that of {@code docker run --gpus} and of compose's
 * {@code devices}. It means here what it means to docker's driver for NVIDIA's GPUs
 * (daemon/nvidia_linux.go), and its ids what they mean to NVIDIA's tools.
 *
 * @param ids empty when there is no list; a list may have no ids
 * @param capabilities the device must have all of one of these lists
 */
public record DeviceRequest(
        String driver,
        int count,
        Optional<List<String>> ids,
        List<? extends List<String>> capabilities) {
    /** The capabilities of docker's driver. */
    static final Set<String> CAPABILITIES =
            Set.of(
                    "gpu",
                    "nvidia",
                    "compute",
                    "compat32",
                    "graphics",
                    "utility",
                    "video",
                    "display");

    /** The capabilities that any GPU has. */
    static final Set<String> ANY_GPU = Set.of("gpu", "nvidia");

    private static final Set<String> NOTHING = Set.of("none", GpuRequest.VOID);

    public DeviceRequest {
        ids = ids.map(List::copyOf);
        capabilities = List.copyOf(capabilities);
    }

    /** Whether its ids are names of CDI devices. */
    public boolean isCdi() {
        return driver.equals("cdi");
    }

    /** Whether any of its ids is the name of a CDI device that is a GPU of NVIDIA's. */
    public boolean isCdiOfGpus() {
        return isCdi() && ids.orElse(List.of()).stream().anyMatch(GpuIds::isCdiName);
    }

    /** Whether docker gives it GPUs of NVIDIA's. */
    public boolean isOfGpus() {
        return (driver.isEmpty() || driver.equals("nvidia"))
                && capabilities.stream().anyMatch(CAPABILITIES::containsAll);
    }

    /**
     * The GPUs that it requests. compose 1.29 sends an empty list where its user gives no number;
     * {@code --gpus 0} sends none.
     *
     * @throws InvalidGpuRequestException when its ids do not name GPUs, or are empty texts
     */
    public GpuRequest gpus() throws InvalidGpuRequestException {
        if (count < 0 || count == 0 && ids.filter(List::isEmpty).isPresent()) {
            return new GpuRequest.All();
        }
        if (count > 0) {
            return new GpuRequest.Count(count);
        }
        return devices(
                ids.orElse(List.of()).stream()
                        .filter(id -> !isCdi() || GpuIds.isCdiName(id))
                        .toList());
    }

    private static GpuRequest devices(List<String> ids) throws InvalidGpuRequestException {
        List<String> named =
                ids.stream()
                        .flatMap(text -> GpuIds.split(text).stream())
                        .filter(id -> !NOTHING.contains(id))
                        .limit(GpuRequest.MAX_IDS + 1)
                        .toList();
        if (named.isEmpty()) {
            if (ids.stream().anyMatch(text -> GpuIds.split(text).isEmpty())) {
                throw new InvalidGpuRequestException(
                        new Refusal(
                                "it requests a GPU by an empty id",
                                "write an index or a UUID, as 'jnvdocker gpu ls' shows them; is a"
                                        + " variable of your compose file empty?"));
            }
            return new GpuRequest.None();
        }
        if (named.contains("all")) {
            return new GpuRequest.All();
        }
        try {
            return new GpuRequest.Devices(named);
        } catch (IllegalArgumentException e) {
            throw new InvalidGpuRequestException(
                    new Refusal(
                            "its device ids do not name GPUs: "
                                    + Quote.quoted(String.join(",", named)),
                            "write indexes or UUIDs, as 'jnvdocker gpu ls' shows them"));
        }
    }
}
