package jnvdocker.kubernetes;

import jnvdocker.core.Leases;
import jnvdocker.host.Gpu;
import jnvdocker.lease.GpuStatus;
import jnvdocker.lease.Verdict;
import jnvdocker.request.GpuResolver;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.function.Function;
import java.util.function.Supplier;

/**
 * The devices of one resource. A GPU that a pod has, or waits for, is healthy whatever becomes of
 * it: the scheduler would count it twice as missing. Any other is healthy while it is free.
 */
final class DeviceList {
    /** Instances of GPUs come and go, and have another UUID each time. */
    private static final int REMEMBERED = 1000;

    private static final Comparator<GpuStatus> ORDER =
            Comparator.comparing(GpuStatus::gpu, Gpu.ORDER);

    private final String resource;
    private final Supplier<KubernetesPolicy> policy;
    private final Function<Gpu, OptionalInt> numaNode;

    /** Every device that was in a list, in order of its first. */
    private final Map<String, Device> listed = new LinkedHashMap<>();

    /**
     * @param registered ids that the kubelet knows from an earlier list
     */
    DeviceList(
            String resource,
            Supplier<KubernetesPolicy> policy,
            Function<Gpu, OptionalInt> numaNode,
            Set<String> registered) {
        this.resource = resource;
        this.policy = policy;
        this.numaNode = numaNode;
        registered.stream()
                .filter(GpuResolver::isUuid)
                .sorted()
                .limit(REMEMBERED)
                .forEach(id -> listed.put(id, new Device(id, false, OptionalInt.empty())));
    }

    /** The devices before the first scan: all are unhealthy, like vanished ones. */
    synchronized List<Device> unseen() {
        return listed.values().stream().map(DeviceList::gone).toList();
    }

    private static Device gone(Device device) {
        return new Device(device.id(), false, device.numaNode());
    }

    /** The list in order of index, and then those that have gone. */
    synchronized List<Device> of(Leases.Board board) {
        Map<String, Device> devices = new LinkedHashMap<>();
        for (GpuStatus status : board.gpus().stream().sorted(ORDER).toList()) {
            Gpu gpu = status.gpu();
            if (isListed(gpu)) {
                devices.put(
                        gpu.uuid(),
                        new Device(
                                gpu.uuid(),
                                isHealthy(board.choice().verdict(gpu)),
                                numaNode.apply(gpu)));
            }
        }
        for (Device old : listed.values()) {
            devices.putIfAbsent(old.id(), gone(old));
        }
        listed.putAll(devices);
        List<Device> all = new ArrayList<>(devices.values());
        while (all.size() > REMEMBERED) {
            listed.remove(all.removeLast().id());
        }
        return all;
    }

    private boolean isListed(Gpu gpu) {
        return gpu.hasUuid() && gives(gpu) || listed.containsKey(gpu.uuid());
    }

    /** Whether pods that request the resource may get a GPU. */
    boolean gives(Gpu gpu) {
        KubernetesPolicy now = policy.get();
        return now.resourceOf(gpu).equals(resource) && now.gives(gpu);
    }

    private boolean isHealthy(Verdict verdict) {
        boolean isOfPod =
                verdict.holder().filter(PodKind::isOfPod).isPresent()
                        || verdict.keptFor()
                                .filter(it -> it.request().origin().isRequestedAgain())
                                .isPresent();
        return isOfPod || obstacle(verdict).isEmpty() && gives(verdict.gpu());
    }

    /** Why nobody can have a GPU now, in a word, as {@code held}; empty when it is free. */
    static Optional<String> obstacle(Verdict verdict) {
        return verdict.holder().isPresent() ? Optional.of("held") : obstacleBeside(verdict);
    }

    /** Why nobody can have another share of a shared GPU now, in a word; empty when one can. */
    static Optional<String> obstacleBeside(Verdict verdict) {
        return verdict.state() == GpuStatus.State.FREE
                ? verdict.kept().map(_ -> "kept")
                : Optional.of(verdict.state().name().toLowerCase(Locale.ROOT));
    }
}
