package jnvdocker.docker.engine;

import com.github.dockerjava.api.command.InspectContainerResponse;
import com.github.dockerjava.api.model.Device;
import com.github.dockerjava.api.model.HostConfig;

import jnvdocker.request.DeviceRequest;
import jnvdocker.request.GpuRequest;
import jnvdocker.request.InvalidGpuRequestException;
import jnvdocker.use.GpuAccess;
import jnvdocker.use.GpuUse;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/** A container's GPUs by the engine's answer, of which any part may be missing. */
final class AccessRecords {
    private static final Pattern CDI =
            Pattern.compile("^(?:nvidia\\.com|(?:pod\\.)?jnvdocker)/gpu=(.*)");
    private static final String VISIBLE = "NVIDIA_VISIBLE_DEVICES=";
    private static final String ALL = "all";
    private static final Set<String> NONE = Set.of("", "void", "none");

    private AccessRecords() {}

    /**
     * @param runtimes those of the engine, name to program
     * @param guarded whether a program is ours: whatever the container requests, it gets GPUs from
     *     us alone
     */
    static GpuAccess access(
            InspectContainerResponse container,
            Map<String, String> runtimes,
            Predicate<String> guarded) {
        HostConfig host = container.getHostConfig();
        if (host == null || guarded.test(program(host, runtimes))) {
            return GpuAccess.NONE;
        }
        List<GpuAccess.Given> given = new ArrayList<>();
        list(host.getDeviceRequests()).forEach(request -> given.add(given(request)));
        visible(container, host, runtimes).ifPresent(given::add);
        return new GpuAccess(
                Boolean.TRUE.equals(host.getPrivileged()),
                Stream.of(Objects.requireNonNullElse(host.getDevices(), new Device[0]))
                        .filter(AccessRecords::isOpened)
                        .map(Device::getPathOnHost)
                        .filter(Objects::nonNull)
                        .toList(),
                list(container.getMounts()).stream()
                        .map(InspectContainerResponse.Mount::getSource)
                        .filter(Objects::nonNull)
                        .toList(),
                list(host.getDeviceCgroupRules()),
                given);
    }

    private static String program(HostConfig host, Map<String, String> runtimes) {
        return runtimes.getOrDefault(Objects.requireNonNullElse(host.getRuntime(), ""), "");
    }

    /** A device that may be created and not opened gives no GPU. */
    private static boolean isOpened(Device device) {
        String rights = Objects.requireNonNullElse(device.getcGroupPermissions(), "");
        return rights.isEmpty() || rights.contains("r") || rights.contains("w");
    }

    /** Whether docker was asked for GPUs. */
    static boolean requestsGpus(HostConfig host) {
        return list(host.getDeviceRequests()).stream()
                .map(AccessRecords::request)
                .anyMatch(DeviceRequest::isOfGpus);
    }

    private static DeviceRequest request(com.github.dockerjava.api.model.DeviceRequest model) {
        return new DeviceRequest(
                Objects.requireNonNullElse(model.getDriver(), ""),
                Objects.requireNonNullElse(model.getCount(), 0),
                Optional.ofNullable(model.getDeviceIds()),
                list(model.getCapabilities()).stream().filter(Objects::nonNull).toList());
    }

    private static GpuAccess.Given given(com.github.dockerjava.api.model.DeviceRequest model) {
        DeviceRequest request = request(model);
        if (request.isCdi()) {
            return new GpuAccess.Given(
                    GpuUse.Kind.CDI,
                    list(model.getDeviceIds()).stream()
                            .map(CDI::matcher)
                            .filter(Matcher::matches)
                            .map(id -> id.group(1))
                            .toList());
        }
        return new GpuAccess.Given(
                GpuUse.Kind.REQUEST, request.isOfGpus() ? ids(request) : List.of());
    }

    /** A count means the first GPUs, whether or not they are in use. */
    private static List<String> ids(DeviceRequest request) {
        try {
            return switch (request.gpus()) {
                case GpuRequest.All _ -> List.of(ALL);
                case GpuRequest.None _, GpuRequest.With _ -> List.of();
                case GpuRequest.Devices(List<String> ids) -> ids;
                case GpuRequest.Count(int number, _) ->
                        IntStream.range(0, number)
                                .limit(GpuRequest.MAX_IDS)
                                .mapToObj(String::valueOf)
                                .toList();
            };
        } catch (InvalidGpuRequestException e) {
            // Which they are is not known.
            return List.of(ALL);
        }
    }

    /** NVIDIA's runtime goes by the variable, be it the image's. */
    private static Optional<GpuAccess.Given> visible(
            InspectContainerResponse container, HostConfig host, Map<String, String> runtimes) {
        String runtime = Objects.requireNonNullElse(host.getRuntime(), "");
        boolean nvidia =
                runtime.contains("nvidia")
                        || runtimes.getOrDefault(runtime, "").contains("nvidia-container-runtime");
        if (!nvidia || container.getConfig() == null) {
            return Optional.empty();
        }
        return Stream.of(Objects.requireNonNullElse(container.getConfig().getEnv(), new String[0]))
                .filter(variable -> variable.startsWith(VISIBLE))
                .map(variable -> variable.substring(VISIBLE.length()).strip())
                .filter(value -> !NONE.contains(value))
                .map(value ->
                        new GpuAccess.Given(
                                GpuUse.Kind.RUNTIME,
                                Arrays.stream(value.split(","))
                                        .map(String::strip)
                                        .map(id -> CDI.matcher(id).replaceFirst("$1"))
                                        .toList()))
                .findFirst();
    }

    private static <T> List<T> list(List<T> list) {
        return Objects.requireNonNullElse(list, List.of());
    }
}
