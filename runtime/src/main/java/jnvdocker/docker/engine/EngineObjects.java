package jnvdocker.docker.engine;

import com.github.dockerjava.api.command.InspectContainerResponse;
import com.github.dockerjava.api.command.InspectVolumeResponse;
import com.github.dockerjava.api.model.HostConfig;
import com.github.dockerjava.api.model.VersionComponent;

import jnvdocker.docker.engine.EngineConnection.Purpose;
import jnvdocker.holder.ContainerEngine;
import jnvdocker.lease.ClaimNames;
import jnvdocker.words.Quote;
import jnvdocker.words.RefusedException;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.function.BiPredicate;

/** The containers and volumes of an engine that the doctor, prune and uninstall look for. */
public final class EngineObjects {
    /** What docker takes for a kind of network, whether or not it has one of that name. */
    private static final Set<String> NETWORKS = Set.of("", "default", "bridge", "host", "none");

    private final DockerEngine engine;

    EngineObjects(DockerEngine engine) {
        this.engine = engine;
    }

    /** Containers with volumes of a plugin, running or not, each with those volumes alone. */
    public List<ContainerEngine.Listed> withVolumesOf(String plugin, Duration limit)
            throws EngineException {
        return engine.connection()
                .ask(
                        "list containers",
                        limit,
                        Purpose.CLIENT,
                        docker ->
                                docker.listContainersCmd().withShowAll(true).exec().stream()
                                        .map(container ->
                                                ContainerRecords.listed(container, plugin))
                                        .filter(container -> !container.volumes().isEmpty())
                                        .toList());
    }

    /** The containers that have a runtime, running or not. */
    public List<ContainerEngine.Listed> ofRuntime(String runtime, Duration limit)
            throws EngineException {
        return ofRuntime(runtime, limit, (_, _) -> true);
    }

    /** Those of them for which GPUs were requested by a label of ours, or of docker itself. */
    public List<ContainerEngine.Listed> withGpus(String runtime, Duration limit)
            throws EngineException {
        return ofRuntime(
                runtime,
                limit,
                (container, host) ->
                        container.labels().containsKey(ClaimNames.CLAIM_LABEL)
                                || container.labels().containsKey(ClaimNames.GPUS_LABEL)
                                || AccessRecords.requestsGpus(host));
    }

    private List<ContainerEngine.Listed> ofRuntime(
            String runtime, Duration limit, BiPredicate<ContainerEngine.Listed, HostConfig> wanted)
            throws EngineException {
        List<ContainerEngine.Listed> found = new ArrayList<>();
        for (ContainerEngine.Listed each : engine.all(limit)) {
            engine.record(each.id(), limit)
                    .map(InspectContainerResponse::getHostConfig)
                    .filter(host -> runtime.equals(host.getRuntime()) && wanted.test(each, host))
                    .ifPresent(_ -> found.add(each));
        }
        return found;
    }

    /**
     * The networks and the other containers that a container needs at its start.
     *
     * @param networks by name or id
     * @param containers by name or id
     */
    public record Needed(List<String> networks, List<String> containers) {}

    /** What a container needs at its start; empty when there is no such container. */
    public Optional<Needed> needed(String container, Duration limit) throws EngineException {
        return engine.record(container, limit).map(ContainerRecords::needed);
    }

    /**
     * Refuses a container that could not start for want of others.
     *
     * @throws RefusedException when the engine does not have all that it needs
     */
    public void refuseMissing(Needed needed, Duration limit)
            throws RefusedException, EngineException {
        for (String network : needed.networks()) {
            if (!NETWORKS.contains(network) && !hasNetwork(network, limit)) {
                throw missing("network", network, "docker network ls");
            }
        }
        for (String container : needed.containers()) {
            if (engine.record(container, limit).isEmpty()) {
                throw missing("container", container, "docker ps -a");
            }
        }
    }

    private boolean hasNetwork(String network, Duration limit) throws EngineException {
        return engine.find(
                        "inspect network " + Quote.shown(network),
                        limit,
                        docker -> docker.inspectNetworkCmd().withNetworkId(network).exec())
                .isPresent();
    }

    private static RefusedException missing(String kind, String name, String list) {
        return new RefusedException(
                "the container needs the %s %s, which does not exist"
                        .formatted(kind, Quote.quoted(name)),
                "create it before, or name one that '%s' shows".formatted(list));
    }

    /** Whether the engine itself removes a container when that has ended ({@code --rm}). */
    public boolean isRemovedAtItsEnd(String container, Duration limit) throws EngineException {
        return engine.record(container, limit)
                .map(InspectContainerResponse::getHostConfig)
                .map(HostConfig::getAutoRemove)
                .orElse(false);
    }

    /** Removes a container that does not run; one that is gone is no error. */
    public void removeContainer(String container, Duration limit) throws EngineException {
        engine.find(
                "remove container " + Quote.shown(container),
                limit,
                docker -> docker.removeContainerCmd(container).exec());
    }

    /** Names of the volumes of a plugin that it lists. */
    public List<String> volumesOf(String plugin, Duration limit) throws EngineException {
        return engine.connection()
                .ask(
                        "list volumes",
                        limit,
                        Purpose.CLIENT,
                        docker ->
                                list(
                                                docker.listVolumesCmd()
                                                        .withFilter("driver", List.of(plugin))
                                                        .exec()
                                                        .getVolumes())
                                        .stream()
                                        .map(InspectVolumeResponse::getName)
                                        .toList());
    }

    /** The driver of a volume; empty when there is no such volume. */
    public Optional<String> volumeDriver(String volume, Duration limit) throws EngineException {
        return engine.find(
                "inspect volume " + volume,
                limit,
                docker -> docker.inspectVolumeCmd(volume).exec().getDriver());
    }

    /** Has the engine request a volume from a plugin, which creates it unless it has it already. */
    public void createVolume(String volume, String plugin, Duration limit) throws EngineException {
        engine.connection()
                .ask(
                        "create volume " + volume,
                        limit,
                        Purpose.ONE_THING,
                        docker ->
                                docker.createVolumeCmd()
                                        .withName(volume)
                                        .withDriver(plugin)
                                        .exec());
    }

    /**
     * The version of the program that the engine runs containers by when they name none: {@code
     * 1.1.5+ds1}. Empty when the engine does not know it.
     */
    public String runtimeVersion(EngineFacts facts, Duration limit) throws EngineException {
        String standard = facts.runtimes().standard();
        return engine.connection()
                .ask(
                        "report its versions",
                        limit,
                        Purpose.UPKEEP,
                        docker ->
                                list(docker.versionCmd().exec().getComponents()).stream()
                                        .filter(part -> standard.equals(part.getName()))
                                        .map(VersionComponent::getVersion)
                                        .findFirst()
                                        .orElse(""));
    }

    private static <T> List<T> list(List<T> list) {
        return Objects.requireNonNullElse(list, List.of());
    }
}
