package jnvdocker.docker.engine;

import com.github.dockerjava.api.DockerClient;
import com.github.dockerjava.api.command.CreateContainerCmd;
import com.github.dockerjava.api.command.InspectContainerResponse;
import com.github.dockerjava.api.exception.NotFoundException;
import com.github.dockerjava.api.model.Device;
import com.github.dockerjava.api.model.Driver;
import com.github.dockerjava.api.model.HostConfig;
import com.github.dockerjava.api.model.Mount;
import com.github.dockerjava.api.model.MountType;
import com.github.dockerjava.api.model.VolumeOptions;

import jnvdocker.container.VolumeMount;
import jnvdocker.host.DeviceNode;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;

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

    /** One name for all: what a daemon leaves behind that is killed here goes the next time. */
    private static final String NAME = "jnvdocker-check";

    /** Creates it, and returns the names of those of its parts that it does not have. */
    List<String> missing(DockerClient docker) {
        remove(docker);
        CreateContainerCmd create =
                docker.createContainerCmd(image)
                        .withName(NAME)
                        .withCmd("true")
                        .withLabels(labels)
                        .withHostConfig(hostConfig());
        platform.ifPresent(create::withPlatform);
        create.exec();
        try {
            return missing(docker.inspectContainerCmd(NAME).exec());
        } finally {
            remove(docker);
        }
    }

    private static void remove(DockerClient docker) {
        try {
            docker.removeContainerCmd(NAME).exec();
        } catch (NotFoundException e) {
            // As it mostly is.
        }
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
                                .withDriverConfig(
                                        new Driver()
                                                .withName(mount.driver())
                                                .withOptions(mount.options())));
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
        Map<String, String> labelled =
                container.getConfig() == null
                        ? Map.of()
                        : Objects.requireNonNullElse(container.getConfig().getLabels(), Map.of());
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
