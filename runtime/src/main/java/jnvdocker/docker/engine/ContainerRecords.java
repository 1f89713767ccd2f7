package jnvdocker.docker.engine;

import com.github.dockerjava.api.command.InspectContainerResponse;
import com.github.dockerjava.api.command.InspectImageResponse;
import com.github.dockerjava.api.model.Container;
import com.github.dockerjava.api.model.ContainerConfig;
import com.github.dockerjava.api.model.ContainerMount;

import jnvdocker.holder.ContainerEngine;
import jnvdocker.labels.ImageConfig;

import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;
import java.util.stream.Stream;

/** The engine's answers, of which any part may be missing, in the terms of leases. */
final class ContainerRecords {
    /** Begins a mode that is another container's. */
    private static final String OTHER = "container:";

    private ContainerRecords() {}

    static ContainerEngine.Listed listed(Container container) {
        return listed(container, _ -> true);
    }

    /** Reads a container with only those of its volumes that a plugin serves. */
    static ContainerEngine.Listed listed(Container container, String plugin) {
        return listed(container, mount -> plugin.equals(mount.getDriver()));
    }

    private static ContainerEngine.Listed listed(
            Container container, Predicate<ContainerMount> counts) {
        String[] names = Objects.requireNonNullElse(container.getNames(), new String[0]);
        return new ContainerEngine.Listed(
                container.getId(),
                name(names.length == 0 ? "" : names[0], container.getId()),
                Objects.requireNonNullElse(container.getState(), ""),
                Objects.requireNonNullElse(container.getLabels(), Map.of()),
                Objects.requireNonNullElse(container.getMounts(), List.<ContainerMount>of())
                        .stream()
                        .filter(counts)
                        .map(ContainerMount::getName)
                        .filter(Objects::nonNull)
                        .toList());
    }

    static ContainerEngine.Inspected inspected(InspectContainerResponse container) {
        var state = Optional.ofNullable(container.getState());
        boolean running = state.map(it -> it.getRunning()).orElse(false);
        Long pid = running ? state.map(it -> it.getPidLong()).orElse(0L) : Long.valueOf(0);
        Map<String, String> labels =
                container.getConfig() == null ? null : container.getConfig().getLabels();
        return new ContainerEngine.Inspected(
                container.getId(),
                name(Objects.requireNonNullElse(container.getName(), ""), container.getId()),
                Objects.requireNonNullElse(container.getImageId(), ""),
                Math.toIntExact(pid),
                state.map(it -> it.getRestarting()).orElse(false),
                Objects.requireNonNullElse(labels, Map.of()),
                Objects.requireNonNullElse(
                                container.getMounts(), List.<InspectContainerResponse.Mount>of())
                        .stream()
                        .map(mount -> mount.getName())
                        .filter(Objects::nonNull)
                        .toList());
    }

    static Optional<ContainerEngine.Down> down(InspectContainerResponse container) {
        var state = Optional.ofNullable(container.getState());
        boolean up =
                state.map(it -> it.getRunning()).orElse(false)
                        || state.map(it -> it.getRestarting()).orElse(false);
        if (up) {
            return Optional.empty();
        }
        var policy =
                Optional.ofNullable(container.getHostConfig()).map(it -> it.getRestartPolicy());
        Map<String, String> labels =
                container.getConfig() == null ? null : container.getConfig().getLabels();
        return Optional.of(
                new ContainerEngine.Down(
                        container.getId(),
                        name(
                                Objects.requireNonNullElse(container.getName(), ""),
                                container.getId()),
                        policy.map(it -> it.getName()).orElse(""),
                        state.map(it -> it.getError()).orElse(""),
                        state.map(it -> it.getFinishedAt()).orElse(""),
                        Objects.requireNonNullElse(labels, Map.of())));
    }

    static EngineObjects.Needed needed(InspectContainerResponse container) {
        var host = Optional.ofNullable(container.getHostConfig());
        Optional<String> mode = host.map(it -> it.getNetworkMode());
        Set<String> joined =
                Optional.ofNullable(container.getNetworkSettings())
                        .map(it -> it.getNetworks())
                        .map(Map::keySet)
                        .orElse(Set.of());
        List<String> modes =
                Stream.of(mode, host.map(it -> it.getIpcMode()), host.map(it -> it.getPidMode()))
                        .flatMap(Optional::stream)
                        .toList();
        return new EngineObjects.Needed(
                Stream.concat(mode.stream(), joined.stream())
                        .filter(network -> !network.startsWith(OTHER))
                        .distinct()
                        .toList(),
                modes.stream()
                        .filter(each -> each.startsWith(OTHER))
                        .map(each -> each.substring(OTHER.length()))
                        .distinct()
                        .toList());
    }

    /** The image's name as it was given. */
    static String image(InspectContainerResponse container) {
        String name = container.getConfig() == null ? null : container.getConfig().getImage();
        return Objects.requireNonNullElse(name, "");
    }

    /** The labels and variables of an image. */
    static ImageConfig config(InspectImageResponse image) {
        ContainerConfig config = image.getConfig();
        if (config == null) {
            return ImageConfig.of(Map.of(), List.of());
        }
        String[] environment = Objects.requireNonNullElse(config.getEnv(), new String[0]);
        return ImageConfig.of(config.getLabels(), Arrays.asList(environment));
    }

    /** Docker writes a slash before it; a container that is being removed may have none. */
    private static String name(String name, String id) {
        String plain = name.startsWith("/") ? name.substring(1) : name;
        return plain.isEmpty() ? id.substring(0, Math.min(12, id.length())) : plain;
    }
}
