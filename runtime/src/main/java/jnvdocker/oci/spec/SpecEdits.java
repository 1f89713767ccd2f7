package jnvdocker.oci.spec;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

import jnvdocker.container.ContainerEdits;
import jnvdocker.container.VolumeMount;
import jnvdocker.host.DeviceNode;
import jnvdocker.host.Gpu;
import jnvdocker.request.GpuRequest;
import jnvdocker.volume.GraphicsFile;

import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;

/** Renders edits in a {@code config.json}; the one place where that is done. */
public final class SpecEdits {
    static final String VISIBLE = GpuRequest.VISIBLE_DEVICES;
    static final String VOID = GpuRequest.VOID;

    /** The claim that a container was given GPUs under. */
    private static final String ANNOTATION = "jnvdocker.lease";

    private static final int ANYBODYS = 0666;

    private SpecEdits() {}

    /**
     * Puts the edits in, and takes out what NVIDIA's own tools have put there.
     *
     * @param directories of the host, which are mounted
     * @param driver the directory of the driver volume, as served
     * @param claim under which it is given GPUs; empty when it is given none
     */
    public static void apply(
            RuntimeSpec spec,
            ContainerEdits edits,
            Map<VolumeMount, Path> directories,
            Path driver,
            Majors majors,
            Optional<DockerContainer> docker,
            Optional<String> claim) {
        NvidiaParts.remove(spec, majors, hasCdi(docker), users(docker));
        ObjectNode root = spec.root();
        ObjectNode linux = SpecJson.objectIn(root, "linux");
        ArrayNode devices = SpecJson.listIn(linux, "devices");
        ArrayNode rules = SpecJson.listIn(SpecJson.objectIn(linux, "resources"), "devices");
        for (DeviceNode node : edits.devices()) {
            devices.addObject()
                    .put("path", node.name())
                    .put("type", "c")
                    .put("major", node.major())
                    .put("minor", node.minor())
                    .put("fileMode", ANYBODYS)
                    .put("uid", 0)
                    .put("gid", 0);
            // Behind all others, some of which may deny everything; no process needs to create a
            // node.
            rules.addObject()
                    .put("allow", true)
                    .put("type", "c")
                    .put("major", node.major())
                    .put("minor", node.minor())
                    .put("access", "rw");
        }
        for (VolumeMount mount : edits.mounts()) {
            mount(root, mount.target(), directories.get(mount));
        }
        for (GraphicsFile file : edits.files()) {
            mount(root, file.target(), driver.resolve(file.inVolume()));
        }
        edits.environment().forEach((name, value) -> set(root, name, value));
        claim.ifPresent(id -> SpecJson.objectIn(root, "annotations").put(ANNOTATION, id));
    }

    /**
     * Has the container see its own GPUs alone in the driver's directory of them. No runtime mounts
     * anything there, so a hook does, when the container's {@code /proc} is mounted and its program
     * has not begun.
     *
     * @param hook our runtime, which acts as that hook by another name
     * @param bundle the engine's directory for the container
     */
    public static void showAlone(RuntimeSpec spec, Path hook, Path bundle, List<Gpu> gpus) {
        ObjectNode added =
                SpecJson.listIn(SpecJson.objectIn(spec.root(), "hooks"), "createContainer")
                        .addObject();
        ArrayNode words =
                added.put("path", hook.toString())
                        .putArray("args")
                        .add(NvidiaParts.GPUS_HOOK)
                        .add(bundle.resolve(spec.rootPath()).toString())
                        .add("proc/driver/nvidia/gpus");
        gpus.stream().map(Gpu::pciAddress).distinct().sorted().forEach(words::add);
    }

    private static void mount(ObjectNode root, String target, Path directory) {
        ObjectNode mount = SpecJson.listIn(root, "mounts").addObject();
        mount.put("destination", target).put("type", "bind").put("source", directory.toString());
        mount.putArray("options").add("bind").add("ro").add("nosuid").add("nodev").add("rprivate");
    }

    /** Takes out what would give GPUs to a container that requests none. */
    public static void withoutGpus(
            RuntimeSpec spec, Majors majors, Optional<DockerContainer> docker) {
        NvidiaParts.remove(spec, majors, hasCdi(docker), users(docker));
        ObjectNode root = spec.root();
        if (spec.environment().containsKey(VISIBLE)) {
            set(root, VISIBLE, VOID);
        }
        if (spec.allowsAllDevices()) {
            ObjectNode linux = SpecJson.objectIn(root, "linux");
            OtherDevices.allowAlone(
                    SpecJson.listIn(SpecJson.objectIn(linux, "resources"), "devices"),
                    majors,
                    spec.isInSystemdsCgroup());
        }
        // Also of what was just allowed in place of everything.
        GraphicsNodes.leaveOut(spec, majors, Set.of());
    }

    /** Sets the capabilities that a request names, as docker does for those of {@code --gpus}. */
    public static void setCapabilities(RuntimeSpec spec, List<String> capabilities) {
        if (!capabilities.isEmpty()) {
            set(spec.root(), GpuRequest.DRIVER_CAPABILITIES, String.join(",", capabilities));
        }
    }

    private static boolean hasCdi(Optional<DockerContainer> docker) {
        return docker.filter(DockerContainer::hasCdi).isPresent();
    }

    /** Whether docker's user has put something at a place in the container. */
    private static Predicate<String> users(Optional<DockerContainer> docker) {
        Set<String> places = new HashSet<>(docker.map(DockerContainer::mounted).orElse(Set.of()));
        Set<String> devices = docker.map(DockerContainer::devices).orElse(Set.of());
        places.addAll(devices);
        return place -> {
            String normal = RuntimeSpec.normal(place);
            return places.contains(normal)
                    || devices.stream().anyMatch(directory -> normal.startsWith(directory + "/"));
        };
    }

    /** Replaces the variable wherever it is set, so that no other value is found. */
    private static void set(ObjectNode root, String name, String value) {
        ArrayNode environment = SpecJson.listIn(SpecJson.objectIn(root, "process"), "env");
        String entry = name + "=" + value;
        boolean found = false;
        for (int i = 0; i < environment.size(); i++) {
            if (environment.get(i).asText("").startsWith(name + "=")) {
                environment.set(i, entry);
                found = true;
            }
        }
        if (!found) {
            environment.add(entry);
        }
    }
}
