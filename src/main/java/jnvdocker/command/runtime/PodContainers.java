package jnvdocker.command.runtime;

import jnvdocker.command.start.NeedsCheck;
import jnvdocker.container.Allocation;
import jnvdocker.container.ContainerEdits;
import jnvdocker.container.ContainerPlanner;
import jnvdocker.container.VolumeMount;
import jnvdocker.host.DeviceNode;
import jnvdocker.host.DeviceNodes;
import jnvdocker.host.Gpu;
import jnvdocker.host.Host;
import jnvdocker.host.HostDriver;
import jnvdocker.labels.GpuNeeds;
import jnvdocker.lease.ClaimNames;
import jnvdocker.lease.ClaimedGpu;
import jnvdocker.lease.Lease;
import jnvdocker.oci.spec.GpuWishes;
import jnvdocker.oci.spec.Majors;
import jnvdocker.oci.spec.RuntimeSpec;
import jnvdocker.oci.spec.SpecEdits;
import jnvdocker.protocol.ExitCode;
import jnvdocker.request.GpuRequest;
import jnvdocker.volume.ServedVolumes;
import jnvdocker.words.Quote;
import jnvdocker.words.RefusedException;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.BooleanSupplier;
import java.util.stream.Collectors;

/**
 * Containers of pods whose kubelet has their GPUs of our device plugin. Their pod has the lease
 * before a runtime sees them: they get none of their own, and may have the GPUs of that lease
 * alone.
 */
public final class PodContainers {
    private final Host host;
    private final DeviceNodes nodes;
    private final NeedsCheck needsCheck;
    private final ServedVolumes volumes;
    private final ContainerPlanner planner;
    private final Graphics graphics;
    private final GpuWishes wishes;
    private final Pods pods;

    /**
     * The pods of this host.
     *
     * @param enabled whether a device plugin of ours gives them GPUs
     */
    public record Pods(BooleanSupplier enabled, Held held) {}

    /** The leases of pods. */
    @FunctionalInterface
    public interface Held {
        /** Those of a pod, by its uid. */
        List<Lease> of(String uid) throws IOException;
    }

    /** A device by its numbers. */
    private record Number(int major, int minor) {}

    PodContainers(
            Host host,
            DeviceNodes nodes,
            NeedsCheck needsCheck,
            ServedVolumes volumes,
            ContainerPlanner planner,
            Graphics graphics,
            GpuWishes wishes,
            Pods pods) {
        this.host = host;
        this.nodes = nodes;
        this.needsCheck = needsCheck;
        this.volumes = volumes;
        this.planner = planner;
        this.graphics = graphics;
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
     * @param gpus those of the host
     * @throws RefusedException for a GPU that the pod does not hold, or that the image cannot use
     */
    void create(RuntimeSpec.Pod pod, CreateCall call, List<Gpu> gpus, Majors majors)
            throws RefusedException, IOException {
        Map<Gpu, Set<Number>> held = held(pod, gpus);
        if (call.spec().allowsAllDevices()) {
            createPrivileged(call, held, majors);
            return;
        }
        Set<Number> given = given(call.spec(), gpus, majors);
        Set<Number> others = new HashSet<>(given);
        held.values().forEach(others::removeAll);
        if (!others.isEmpty()) {
            throw new RefusedException(
                    "this container is given "
                            + names(others, majors)
                            + ", which its pod "
                            + Quote.shown(pod.namespace() + "/" + pod.name())
                            + " does not hold",
                    "leave these devices out, and ask for GPUs in the container's"
                            + " resources.limits");
        }
        if (given.isEmpty()) {
            refuseWishes(call.spec());
            without(call, majors);
        } else {
            List<Gpu> its = new ArrayList<>(held.keySet());
            its.removeIf(gpu -> !given.containsAll(held.get(gpu)));
            HostDriver driver = new HostDriver(HostDriver.readVersion(host), gpus);
            check(its, call, driver);
            edit(its, call, driver, majors);
        }
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
            if (uuids.contains(gpu.uuid()) && gpu.isKnown()) {
                held.put(
                        gpu,
                        nodes.allOf(gpu).stream()
                                .map(node -> new Number(node.major(), node.minor()))
                                .collect(Collectors.toSet()));
            }
        }
        return held;
    }

    /** The devices of GPUs, and of instances of them, that the container may open. */
    private Set<Number> given(RuntimeSpec spec, List<Gpu> gpus, Majors majors) throws IOException {
        Set<Number> given = new HashSet<>();
        spec.gpuMinors(majors.gpu(), RuntimeCreate.minors(gpus))
                .forEach(minor -> given.add(new Number(majors.gpu(), minor)));
        if (HostDriver.isLoaded(host) && nodes.capsMajor().isPresent()) {
            int caps = nodes.capsMajor().getAsInt();
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
    private void createPrivileged(CreateCall call, Map<Gpu, Set<Number>> held, Majors majors)
            throws RefusedException, IOException {
        boolean injected =
                !held.isEmpty()
                        && call.spec().mountTargets().contains(ContainerPlanner.DRIVER_FOLDER);
        if (injected) {
            wishes.refusePrivileged();
        }
        if (wishes.allowPrivileged()) {
            call.client().exit(ExitCode.OK);
        } else {
            without(call, majors);
        }
    }

    /** A pod's own words, which would be of no use. An image's variable is not among them. */
    private static void refuseWishes(RuntimeSpec spec) throws RefusedException {
        String asked = spec.annotations().getOrDefault(ClaimNames.GPUS_LABEL, "").strip();
        if (!asked.isEmpty() && !asked.equals("none") && !asked.equals("0")) {
            throw new RefusedException(
                    "the annotation "
                            + ClaimNames.GPUS_LABEL
                            + " of this pod does not give it GPUs: they come from the kubelet",
                    "ask for them in the container's resources.limits, and remove the annotation");
        }
    }

    private static void without(CreateCall call, Majors majors) throws IOException {
        if (call.spec().hasNvidia(majors)) {
            SpecEdits.withoutGpus(call.spec(), majors, call.docker());
            call.client().print(call.spec().toString());
        }
        call.client().exit(ExitCode.OK);
    }

    private void check(List<Gpu> its, CreateCall call, HostDriver driver)
            throws RefusedException, IOException {
        GpuRequest request =
                its.isEmpty()
                        ? new GpuRequest.None()
                        : new GpuRequest.Devices(its.stream().map(Gpu::uuid).toList());
        needsCheck.check(
                GpuNeeds.withGpus(call.merged(), Map.of()), request, driver, call.client());
    }

    /** The nodes are those that it has; the search paths are new. */
    private void edit(List<Gpu> its, CreateCall call, HostDriver driver, Majors majors)
            throws RefusedException, IOException {
        ContainerEdits edits =
                planner.plan(
                        new ContainerPlanner.Container(
                                call.merged(),
                                new Allocation(its, List.of(), Map.of()),
                                call.settings(),
                                driver.version(),
                                true));
        Path served = volumes.serve(host, driver.version(), call.request().peer().pid()).path();
        Map<VolumeMount, Path> folders = new HashMap<>();
        edits.mounts().forEach(mount -> folders.put(mount, served));
        edits = graphics.with(edits, call.spec(), driver.version(), served, folders);
        for (DeviceNode node : edits.devices()) {
            nodes.linkByNumber(node);
        }
        SpecEdits.apply(call.spec(), edits, folders, majors, call.docker(), Optional.empty());
        call.client().print(call.spec().toString());
        call.client().exit(ExitCode.OK);
    }
}
