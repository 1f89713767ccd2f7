package jnvdocker.command.runtime;

import jnvdocker.container.ContainerEdits;
import jnvdocker.container.ContainerPlanner;
import jnvdocker.container.UserSettings;
import jnvdocker.grant.OciContainers;
import jnvdocker.labels.ImageConfig;
import jnvdocker.oci.spec.DockerContainer;
import jnvdocker.oci.spec.RuntimeSpec;
import jnvdocker.protocol.ClientConnection;
import jnvdocker.protocol.ClientRequest;
import jnvdocker.registry.ClaimFiles;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;

/**
 * What our runtime has sent of a container that it is to create.
 *
 * @param pidFile to which the real runtime is to write the pid of the first process
 * @param docker empty for a container that is not docker's
 * @param image the image's own configuration, if that is known
 */
record CreateCall(
        OciContainers.Container container,
        Optional<Path> pidFile,
        RuntimeSpec spec,
        Optional<DockerContainer> docker,
        Optional<ImageConfig> image,
        ClientRequest request,
        ClientConnection client) {
    private static final String DRIVER = ContainerPlanner.DRIVER_FOLDER;
    private static final Pattern HASH = Pattern.compile("[0-9a-f]{64}");

    /** As people know a container that has no other name. */
    private static final int SHORT = 12;

    /** What docker gives a container whose image has no PATH (moby: DefaultPathEnv). */
    private static final String DOCKERS_PATH =
            "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

    String name() {
        return docker.map(DockerContainer::name)
                .orElseGet(() ->
                        HASH.matcher(container.id()).matches()
                                ? container.id().substring(0, SHORT)
                                : container.id());
    }

    /** As far as it is known, what the container has of its image and of its user. */
    ImageConfig merged() {
        Map<String, String> labels =
                image.map(ImageConfig::labels)
                        .or(() -> docker.map(DockerContainer::labels))
                        .orElse(Map.of());
        return new ImageConfig(labels, spec.environment());
    }

    /** Not those of its image, which whoever made that has written. */
    Map<String, String> usersLabels() {
        Map<String, String> labels = new HashMap<>();
        Map<String, String> images = image.map(ImageConfig::labels).orElse(Map.of());
        docker.map(DockerContainer::labels)
                .filter(_ -> image.isPresent())
                .orElse(Map.of())
                .forEach((label, value) -> {
                    if (!value.equals(images.get(label))) {
                        labels.put(label, value);
                    }
                });
        return labels;
    }

    List<ClaimFiles.SetVariable> variables(ContainerEdits edits) {
        Map<String, String> before = spec.environment();
        List<ClaimFiles.SetVariable> variables = new ArrayList<>();
        edits.environment()
                .forEach((name, now) ->
                        variables.add(new ClaimFiles.SetVariable(name, before.get(name), now)));
        return variables;
    }

    /** What the user has set stays as it is, as far as that can be told from what the image has. */
    UserSettings settings() {
        Set<String> variables = new TreeSet<>();
        if (docker.isPresent() && image.isPresent()) {
            Map<String, String> images = image.get().environment();
            docker.get()
                    .environment()
                    .forEach((name, value) -> {
                        boolean dockers = name.equals("PATH") && value.equals(DOCKERS_PATH);
                        if (!dockers && !value.equals(images.get(name))) {
                            variables.add(name);
                        }
                    });
        }
        Set<String> mounted = spec.mountTargets();
        if (docker.filter(it -> it.hasCdi() && !it.mounted().contains(DRIVER)).isPresent()) {
            mounted.remove(DRIVER);
        }
        return new UserSettings(variables, mounted, Set.of());
    }
}
