package jnvdocker.docker.engine;

import com.github.dockerjava.api.DockerClient;
import com.github.dockerjava.api.command.CreateContainerCmd;
import com.github.dockerjava.api.command.InspectContainerResponse;
import com.github.dockerjava.api.exception.ConflictException;
import com.github.dockerjava.api.exception.DockerException;
import com.github.dockerjava.api.exception.NotFoundException;
import com.github.dockerjava.api.model.Device;
import com.github.dockerjava.api.model.Driver;
import com.github.dockerjava.api.model.HostConfig;
import com.github.dockerjava.api.model.Mount;
import com.github.dockerjava.api.model.MountType;
import com.github.dockerjava.api.model.VolumeOptions;
import com.github.dockerjava.core.DockerClientImpl;
import com.github.dockerjava.transport.DockerHttpClient;

import jnvdocker.archive.DirectoryArchive;
import jnvdocker.container.VolumeMount;
import jnvdocker.docker.engine.EngineConnection.Purpose;
import jnvdocker.host.DeviceNode;
import jnvdocker.lease.ClaimNames;
import jnvdocker.words.Quote;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * A container that an engine creates for a trial. Most never run: they show what is left out of one
 * between us and the engine. One that is started shows whether our runtime gives it a GPU.
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
    private static final String REPOSITORY = "jnvdocker-check";

    /** The beginning of each trial container's name. */
    private static final String NAME = REPOSITORY + "-";

    /**
     * Distinguishes it from a user's container of such a name, and names the daemon that has made
     * it.
     */
    static final String LABEL = "jnvdocker.check";

    private static final String PROGRAM = "check";
    private static final int OK = 200;
    private static final Duration LIMIT = Duration.ofSeconds(20);
    private static final String THIS_DAEMON = UUID.randomUUID().toString();

    /** A container of an image without anything more, which shows the image's files. */
    public static TrialContainer of(String image) {
        return new TrialContainer(
                image, Optional.empty(), List.of(), List.of(), Optional.empty(), Map.of());
    }

    /**
     * Has the engine create it, and returns the names of those of its parts that it does not have.
     *
     * @throws EngineException when the engine refuses it, or does not answer
     */
    public List<String> missing(DockerEngine engine) throws EngineException {
        return engine.connection()
                .ask(
                        "create a container of jnvdocker's",
                        LIMIT,
                        Purpose.CLIENT,
                        docker ->
                                examine(
                                        docker,
                                        id -> missing(docker.inspectContainerCmd(id).exec())));
    }

    /**
     * Has the engine create it, and copies the files of one of its directories; returns false if it
     * has no such directory.
     *
     * @param to an empty directory; empty files take the place of those that are not wanted
     * @throws EngineException when the engine refuses it, or does not answer
     */
    public boolean copy(DockerEngine engine, String directory, Predicate<String> wanted, Path to)
            throws EngineException {
        return engine.connection()
                .ask(
                        "copy files out of image " + Quote.shown(image),
                        LIMIT,
                        Purpose.CLIENT,
                        docker -> examine(docker, id -> copy(docker, id, directory, wanted, to)));
    }

    private static boolean copy(
            DockerClient docker, String id, String directory, Predicate<String> wanted, Path to) {
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

    /**
     * Starts a container with our runtime and one GPU, of an image that is made for it and holds
     * one program, which ends at once: our runtime gives it a GPU, or fails its start. Removes it
     * afterwards, and before that what a daemon has left that was killed meanwhile.
     *
     * @param program that ends at once, and needs no other file
     * @throws EngineException when the engine, or our runtime, refuses it
     */
    public static void start(DockerEngine engine, String runtime, byte[] program)
            throws EngineException {
        engine.connection()
                .ask(
                        "start a container with the runtime " + Quote.shown(runtime),
                        LIMIT,
                        Purpose.CLIENT,
                        docker -> {
                            start(docker, runtime, program, engine.trials());
                            return true;
                        });
    }

    /**
     * @param underWay the ids of such containers, as long as they are there
     */
    private static void start(
            DockerClient docker, String runtime, byte[] program, Set<String> underWay) {
        removeLeft(docker);
        removeLeftImages(docker);
        String tag = UUID.randomUUID().toString();
        String image = REPOSITORY + ":" + tag;
        String container = NAME + tag;
        Map<String, String> labels = new HashMap<>(ownLabels());
        labels.put(ClaimNames.GPUS_LABEL, "1");
        Optional<String> id = Optional.empty();
        try {
            makeImage(docker, tag, DirectoryArchive.of(PROGRAM, program));
            id =
                    Optional.of(
                            docker.createContainerCmd(image)
                                    .withName(container)
                                    .withCmd("/" + PROGRAM)
                                    .withNetworkDisabled(true)
                                    .withLabels(labels)
                                    .withHostConfig(HostConfig.newHostConfig().withRuntime(runtime))
                                    .exec()
                                    .getId());
            underWay.add(id.get());
            docker.startContainerCmd(container).exec();
        } finally {
            id.ifPresent(underWay::remove);
            removeIfPossible(() -> docker.removeContainerCmd(container).withForce(true).exec());
            removeIfPossible(() -> docker.removeImageCmd(image).exec());
        }
    }

    private static String imageLabels() {
        return ownLabels().entrySet().stream()
                .map(label -> "&changes=LABEL%20" + label.getKey() + "%3D" + label.getValue())
                .collect(Collectors.joining());
    }

    /** docker-java's own command for it sends JSON in the place of the archive. */
    private static void makeImage(DockerClient docker, String tag, byte[] archive) {
        DockerHttpClient http = ((DockerClientImpl) docker).getHttpClient();
        DockerHttpClient.Request request =
                DockerHttpClient.Request.builder()
                        .method(DockerHttpClient.Request.Method.POST)
                        .path(
                                "/images/create?fromSrc=-&repo=%s&tag=%s%s"
                                        .formatted(REPOSITORY, tag, imageLabels()))
                        .putHeader("Content-Type", "application/x-tar")
                        .bodyBytes(archive)
                        .build();
        try (DockerHttpClient.Response response = http.execute(request)) {
            String text = new String(response.getBody().readAllBytes(), StandardCharsets.UTF_8);
            if (response.getStatusCode() != OK) {
                throw new DockerException(text, response.getStatusCode());
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** The labels of every trial container, and of every image that is made for one. */
    private static Map<String, String> ownLabels() {
        return Map.of(LABEL, THIS_DAEMON);
    }

    /**
     * Removes those of a daemon that was killed meanwhile. One that runs is not ours: none runs for
     * longer than a moment.
     */
    private static void removeLeft(DockerClient docker) {
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
    private static void removeLeftImages(DockerClient docker) {
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
    private static void removeIfPossible(Runnable removal) {
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
