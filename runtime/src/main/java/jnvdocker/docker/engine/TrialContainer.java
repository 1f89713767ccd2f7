package jnvdocker.docker.engine;

import com.github.dockerjava.api.DockerClient;
import com.github.dockerjava.api.command.CreateContainerCmd;
import com.github.dockerjava.api.command.InspectContainerResponse;
import com.github.dockerjava.api.exception.ConflictException;
import com.github.dockerjava.api.exception.NotFoundException;
import com.github.dockerjava.api.model.Device;
import com.github.dockerjava.api.model.Driver;
import com.github.dockerjava.api.model.HostConfig;
import com.github.dockerjava.api.model.Mount;
import com.github.dockerjava.api.model.MountType;
import com.github.dockerjava.api.model.VolumeOptions;

import jnvdocker.archive.DirectoryArchive;
import jnvdocker.container.VolumeMount;
import jnvdocker.host.DeviceNode;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.UUID;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.stream.Stream;

/**
 * A container that an engine creates and never runs: it shows what is left out of one between us
 * and the engine.
 *
 * @param image that the engine has
 * @param runtime by name; empty for the engine's default
 * @param labels without a claim's, which would end with this container
 */
public record TrialContainer(
        String image,
        Optional<String> platform,
        List<VolumeMount> mounts,
        List<DeviceNode> devices,
        Optional<String> runtime,
        Map<String, String> labels) {

    private static final Logger LOG = LoggerFactory.getLogger(TrialContainer.class);

    /** The repository of images that are made for trials; each has a tag of its own. */
    static final String REPOSITORY = "jnvdocker-check";

    /** The beginning of each trial container's name. */
    static final String NAME = REPOSITORY + "-";

    /**
     * Distinguishes it from a user's container of such a name, and names the daemon that has made
     * it.
     */
    static final String LABEL = "jnvdocker.check";

    private static final String THIS_DAEMON = UUID.randomUUID().toString();

    /** A container of an image without anything more, which shows the image's files. */
    public static TrialContainer of(String image) {
        return new TrialContainer(
                image, Optional.empty(), List.of(), List.of(), Optional.empty(), Map.of());
    }

    /** Creates it, and returns the names of those of its parts that it does not have. */
    List<String> missing(DockerClient docker) {
        return examine(docker, id -> missing(docker.inspectContainerCmd(id).exec()));
    }

    /**
     * Creates it, and copies the files of a directory of it.
     *
     * @param to a directory; empty files take the place of those that are not wanted
     */
    boolean copy(DockerClient docker, String directory, Predicate<String> wanted, Path to) {
        return examine(
                docker,
                id -> {
                    // The slash and the dot have docker follow a link.
                    try (InputStream archive =
                            docker.copyArchiveFromContainerCmd(id, directory + "/.").exec()) {
                        DirectoryArchive.unpack(archive, wanted, to);
                        return true;
                    } catch (NotFoundException e) {
                        return false;
                    } catch (IOException e) {
                        throw new UncheckedIOException(e);
                    }
                });
    }

    private <T> T examine(DockerClient docker, Function<String, T> examination) {
        removeLeft(docker);
        Map<String, String> all = new HashMap<>(labels);
        all.putAll(ownLabels());
        CreateContainerCmd create =
                docker.createContainerCmd(image)
                        .withName(NAME + UUID.randomUUID())
                        .withCmd("true")
                        .withLabels(all)
                        .withHostConfig(hostConfig());
        platform.ifPresent(create::withPlatform);
        String id = create.exec().getId();
        try {
            return examination.apply(id);
        } finally {
            docker.removeContainerCmd(id).exec();
        }
    }

    /** The labels of every trial container, and of every image that is made for one. */
    static Map<String, String> ownLabels() {
        return Map.of(LABEL, THIS_DAEMON);
    }

    /**
     * Removes those of a daemon that was killed meanwhile. One that runs is not ours: none runs for
     * longer than a moment.
     */
    static void removeLeft(DockerClient docker) {
        docker
                .listContainersCmd()
                .withShowAll(true)
                .withLabelFilter(List.of(LABEL))
                .withStatusFilter(List.of("created", "exited"))
                .exec()
                .stream()
                .filter(each -> isAnothers(each.getLabels()))
                .filter(each -> each.getNames()[0].startsWith("/" + NAME))
                .forEach(each ->
                        removeIfPossible(() -> docker.removeContainerCmd(each.getId()).exec()));
    }

    /** Removes the images that were made for such containers. */
    static void removeLeftImages(DockerClient docker) {
        docker.listImagesCmd().withLabelFilter(LABEL).exec().stream()
                .filter(each -> isAnothers(each.getLabels()))
                .flatMap(each -> Stream.ofNullable(each.getRepoTags()).flatMap(Arrays::stream))
                .filter(tag -> tag.startsWith(REPOSITORY + ":"))
                .forEach(tag -> removeIfPossible(() -> docker.removeImageCmd(tag).exec()));
    }

    private static boolean isAnothers(Map<String, String> labels) {
        return !THIS_DAEMON.equals(labels.get(LABEL));
    }

    /** Removes what is there, and leaves an image that another container uses. */
    static void removeIfPossible(Runnable removal) {
        try {
            removal.run();
        } catch (NotFoundException | ConflictException e) {
            LOG.debug("nothing is left of a trial, or it is in use: {}", e.getMessage());
        }
    }

    private static Map<String, String> labels(InspectContainerResponse container) {
        return container.getConfig() == null
                ? Map.of()
                : Objects.requireNonNullElse(container.getConfig().getLabels(), Map.of());
    }

    private HostConfig hostConfig() {
        HostConfig config =
                HostConfig.newHostConfig()
                        .withMounts(mounts.stream().map(TrialContainer::mount).toList())
                        .withDevices(
                                devices.stream()
                                        .map(node ->
                                                new Device(
                                                        "rw",
                                                        node.name(),
                                                        node.hostPath().toString()))
                                        .toList());
        runtime.ifPresent(config::withRuntime);
        return config;
    }

    private static Mount mount(VolumeMount mount) {
        return new Mount()
                .withType(MountType.VOLUME)
                .withSource(mount.volume())
                .withTarget(mount.target())
                .withReadOnly(true)
                .withVolumeOptions(
                        new VolumeOptions()
                                .withNoCopy(true)
                                .withDriverConfig(new Driver().withName(mount.driver())));
    }

    private List<String> missing(InspectContainerResponse container) {
        List<InspectContainerResponse.Mount> volumes =
                Objects.requireNonNullElse(container.getMounts(), List.of());
        HostConfig host =
                Objects.requireNonNullElseGet(container.getHostConfig(), HostConfig::newHostConfig);
        List<String> nodes =
                Arrays.stream(Objects.requireNonNullElse(host.getDevices(), new Device[0]))
                        .map(Device::getPathOnHost)
                        .toList();
        Map<String, String> labelled = labels(container);
        List<String> missing = new ArrayList<>();
        mounts.stream()
                .filter(mount -> volumes.stream().noneMatch(seen -> is(mount, seen)))
                .forEach(mount -> missing.add(mount.volume()));
        devices.stream()
                .map(node -> node.hostPath().toString())
                .filter(path -> !nodes.contains(path))
                .forEach(missing::add);
        runtime.filter(name -> !name.equals(host.getRuntime()))
                .ifPresent(name -> missing.add("the runtime " + name));
        labels.forEach((name, value) -> {
            if (!value.equals(labelled.get(name))) {
                missing.add("the label " + name);
            }
        });
        return missing;
    }

    private static boolean is(VolumeMount mount, InspectContainerResponse.Mount seen) {
        return mount.volume().equals(seen.getName()) && mount.driver().equals(seen.getDriver());
    }
}
