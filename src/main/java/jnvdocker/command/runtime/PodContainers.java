package jnvdocker.command.runtime;

import jnvdocker.container.ContainerPlanner;
import jnvdocker.host.Gpu;
import jnvdocker.host.HostDriver;
import jnvdocker.lease.ClaimNames;
import jnvdocker.lease.ClaimedGpu;
import jnvdocker.lease.Lease;
import jnvdocker.oci.spec.GpuWishes;
import jnvdocker.oci.spec.GraphicsNodes;
import jnvdocker.oci.spec.Majors;
import jnvdocker.oci.spec.RuntimeSpec;
import jnvdocker.volume.GpuHost;
import jnvdocker.words.Quote;
import jnvdocker.words.RefusedException;

import java.io.IOException;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.BooleanSupplier;
import java.util.stream.Collectors;

/**
 * Containers of pods for which the kubelet got the GPUs from our device plugin. The pod has the
 * lease before a runtime sees its containers: they get no lease of their own, and may have only the
 * GPUs of that lease.
 */
public final class PodContainers {
    private final GpuHost gpuHost;
    private final GpuWishes wishes;
    private final Pods pods;

    /**
     * The pods of this host.
     *
     * @param enabled whether a device plugin of ours gives them GPUs
     */
    public record Pods(BooleanSupplier enabled, Held held) {
        /** A host without pods. */
        public static final Pods NONE = new Pods(() -> false, _ -> List.of());
    }

    /** The leases of pods. */
    @FunctionalInterface
    public interface Held {
        /** The leases of a pod, by its uid. */
        List<Lease> of(String uid) throws IOException;
    }

    /** A device by its numbers. */
    private record Number(int major, int minor) {}

    PodContainers(GpuHost gpuHost, GpuWishes wishes, Pods pods) {
        this.gpuHost = gpuHost;
        this.wishes = wishes;
        this.pods = pods;
    }

    /**
     * The pod of a container that has its GPUs of a kubelet, if it has any. Docker's users write
     * annotations themselves, and containerd's are root.
     */
    Optional<RuntimeSpec.Pod> of(CreateCall call) {
        return pods.enabled().getAsBoolean() && call.docker().isEmpty()
                ? call.spec().pod()
                : Optional.empty();
    }

    /**
     * The GPUs that a container has been given; none also for one that is privileged and has not
     * requested any.
     *
     * @param gpus those of the host
     * @throws RefusedException for a GPU that the pod does not hold, and for requests that only
     *     count without a device plugin
     */
    List<Gpu> gpus(RuntimeSpec.Pod pod, RuntimeSpec spec, List<Gpu> gpus, Majors majors)
            throws RefusedException, IOException {
        Map<Gpu, Set<Number>> held = held(pod, gpus);
        if (spec.allowsAllDevices()) {
            refusePrivileged(spec, held);
            return List.of();
        }
        Set<Number> given = given(spec, gpus, majors);
        Set<Number> others = new HashSet<>(given);
        held.values().forEach(others::removeAll);
        if (!others.isEmpty()) {
            throw new RefusedException(
                    "this container is given "
                            + names(others, majors)
                            + ", which its pod "
                            + Quote.shown(pod.namespace() + "/" + pod.name())
                            + " does not hold",
                    "leave these devices out, and request GPUs in the container's"
                            + " resources.limits");
        }
        if (given.isEmpty()) {
            refuseWishes(spec);
        }
        return held.keySet().stream().filter(gpu -> given.containsAll(held.get(gpu))).toList();
    }

    /** The GPUs of the pod's leases, with the devices of each. */
    private Map<Gpu, Set<Number>> held(RuntimeSpec.Pod pod, List<Gpu> gpus) throws IOException {
        Set<String> uuids =
                pods.held().of(pod.uid()).stream()
                        .flatMap(lease -> lease.claim().gpus().stream())
                        .map(ClaimedGpu::uuid)
                        .collect(Collectors.toSet());
        Map<Gpu, Set<Number>> held = new LinkedHashMap<>();
        for (Gpu gpu : gpus) {
            if (uuids.contains(gpu.uuid()) && gpu.isIdentified()) {
                held.put(
                        gpu,
                        gpuHost.nodes().allOf(gpu).stream()
                                .map(node -> new Number(node.major(), node.minor()))
                                .collect(Collectors.toSet()));
            }
        }
        return held;
    }

    /** The devices of GPUs, and of instances of them, that the container may open. */
    private Set<Number> given(RuntimeSpec spec, List<Gpu> gpus, Majors majors) throws IOException {
        Set<Number> given = new HashSet<>();
        spec.gpuMinors(majors.gpu(), NamedNodes.minors(gpus))
                .forEach(minor -> given.add(new Number(majors.gpu(), minor)));
        GraphicsNodes.named(spec, Optional.empty(), majors)
                .forEach(minor -> given.add(new Number(majors.gpu(), minor)));
        OptionalInt capsMajor =
                HostDriver.isLoaded(gpuHost.host())
                        ? gpuHost.nodes().capsMajor()
                        : OptionalInt.empty();
        if (capsMajor.isPresent()) {
            int caps = capsMajor.getAsInt();
            Set<Integer> all = new HashSet<>();
            for (Gpu gpu : gpus) {
                gpu.part()
                        .ifPresent(part -> {
                            all.add(part.gpuAccess());
                            all.add(part.computeAccess());
                        });
            }
            spec.minors(caps, all).forEach(minor -> given.add(new Number(caps, minor)));
        }
        return given;
    }

    private static String names(Set<Number> devices, Majors majors) {
        Set<Integer> minors = new TreeSet<>();
        Set<Integer> parts = new TreeSet<>();
        devices.forEach(each -> (each.major() == majors.gpu() ? minors : parts).add(each.minor()));
        return minors.isEmpty()
                ? "the capabilities of MIG instances (/dev/nvidia-caps, minors " + parts + ")"
                : NamedNodes.nodes(minors);
    }

    /** Which of all nodes a kubelet has given it, cannot be seen: the driver's files can be. */
    private void refusePrivileged(RuntimeSpec spec, Map<Gpu, Set<Number>> held)
            throws RefusedException {
        if (!held.isEmpty() && spec.mountTargets().contains(ContainerPlanner.DRIVER_DIRECTORY)) {
            wishes.refusePrivilegedPod();
        }
    }

    /** A pod's own words, which would be of no use. An image's variable is not among them. */
    private static void refuseWishes(RuntimeSpec spec) throws RefusedException {
        String requested = spec.annotations().getOrDefault(ClaimNames.GPUS_LABEL, "").strip();
        if (!requested.isEmpty() && !requested.equals("none") && !requested.equals("0")) {
            throw new RefusedException(
                    "the annotation "
                            + ClaimNames.GPUS_LABEL
                            + " of this pod does not give it GPUs: they come from the kubelet",
                    "request them in the container's resources.limits, and remove the annotation");
        }
    }
}
