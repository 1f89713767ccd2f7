package jnvdocker.kubernetes;

import jnvdocker.core.LeaseParts;
import jnvdocker.core.Leases;
import jnvdocker.holder.PresentGpus;
import jnvdocker.host.Gpu;
import jnvdocker.host.Host;
import jnvdocker.host.NoDriverException;
import jnvdocker.lease.GpuStatus;
import jnvdocker.lease.Owner;
import jnvdocker.posix.FileErrors;
import jnvdocker.words.Quote;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;

/** The parts that give GPUs to pods, put together. */
public final class PodParts implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(PodParts.class);
    private static final String POD = "pod";

    private final World world;
    private final KubernetesPolicy policy;
    private final NumaNodes numaNodes;
    private final KubeletView kubelet;
    private final GpuWatch watch;
    private final KubeletKeeper keeper;
    private final Set<String> served = ConcurrentHashMap.newKeySet();

    /**
     * Where the parts find the world.
     *
     * @param inventory the GPUs that the driver shows
     * @param policy as it is now, in which only the GPUs may change
     */
    public record World(
            LeaseParts parts,
            PodLeases leases,
            PresentGpus inventory,
            Host host,
            Kubelet kubelet,
            PodEdits edits,
            Supplier<KubernetesPolicy> policy) {}

    private PodParts(World world) {
        this.world = world;
        policy = world.policy().get();
        numaNodes = new NumaNodes(world.host());
        kubelet = new KubeletView(world.kubelet(), policy.kubeletDirectory());
        watch = new GpuWatch(this::board, world.parts().registry().changes());
        keeper = new KubeletKeeper(world.leases().report(), kubelet, watch);
    }

    /**
     * Restores the lost leases of running pods from the kubelet's file; the kubelet itself is
     * queried later.
     */
    public static void restore(PodLeases leases, Path kubeletDirectory) {
        try {
            Checkpoint checkpoint = Checkpoint.read(kubeletDirectory);
            leases.report().restore(new DeviceHolders(List.of(), checkpoint).remembered());
        } catch (NoDriverException e) {
            LOG.debug("no pod has GPUs", e);
        } catch (IOException e) {
            LOG.warn("pods whose leases were lost are not known: {}", FileErrors.describe(e));
        }
    }

    /**
     * Starts to watch the GPUs and the kubelet. Queries the kubelet first: by its answer, a pod
     * that has lost its lease gets it back, and does not count as an unmanaged use.
     */
    public static PodParts start(World world) {
        PodParts parts = new PodParts(world);
        world.parts().leases().decisions().addListener(parts.watch);
        parts.watch.addListener(parts::warn);
        parts.keeper.check();
        parts.watch.start();
        parts.keeper.start();
        return parts;
    }

    private Leases.Board board() throws IOException {
        List<Gpu> gpus = gpus();
        numaNodes.read(gpus);
        return world.parts().leases().board(gpus);
    }

    private List<Gpu> gpus() throws IOException {
        try {
            return world.inventory().gpus();
        } catch (NoDriverException e) {
            return List.of();
        }
    }

    /**
     * The plugins, by the names of their resources. Waits for a first scan of the GPUs, since a
     * kubelet rejects a pod if a device that it knows of the pod is no longer listed; where each
     * model is a resource, waits until there is a GPU.
     *
     * @param longest how long it waits for the first scan
     */
    public SortedMap<String, DevicePlugin> plugins(Duration longest) throws InterruptedException {
        Checkpoint checkpoint = kubelet.checkpoint();
        SortedMap<String, DevicePlugin> plugins = new TreeMap<>();
        for (String name : names(longest)) {
            Set<String> registered = checkpoint.registered().getOrDefault(name, Set.of());
            plugins.put(name, plugin(name, registered));
        }
        served.addAll(plugins.keySet());
        return plugins;
    }

    /**
     * GPUs for pods by their resource claims, in place of {@link #plugins}.
     *
     * @param longest how long it waits for the first scan of the GPUs
     */
    public PodClaims claims(Duration longest) throws InterruptedException {
        watch.await(longest);
        return new PodClaims(
                watch,
                world.policy(),
                numaNodes,
                kubelet,
                world.leases(),
                world.edits(),
                refusals());
    }

    private NewRefusals refusals() {
        return new NewRefusals(
                why -> world.parts().leases().decisions().refused(Owner.KUBERNETES, POD, why));
    }

    private Set<String> names(Duration longest) throws InterruptedException {
        watch.await(longest);
        if (!policy.perModel()) {
            return Set.of(policy.resource());
        }
        while (true) {
            Set<String> models = watch.known().map(this::models).orElse(Set.of());
            if (!models.isEmpty()) {
                return models;
            }
            watch.awaitNext();
        }
    }

    private Set<String> models(Leases.Board board) {
        KubernetesPolicy now = world.policy().get();
        Set<String> models = new TreeSet<>();
        for (GpuStatus status : board.gpus()) {
            Gpu gpu = status.gpu();
            if (status.state() != GpuStatus.State.MISSING && gpu.hasUuid() && now.gives(gpu)) {
                models.add(policy.resourceOf(gpu));
            }
        }
        return models;
    }

    private DevicePlugin plugin(String resource, Set<String> registered) {
        return new PodDevicePlugin(
                resource,
                watch,
                new DeviceList(resource, world.policy(), numaNodes::of, registered),
                kubelet,
                world.leases(),
                world.edits(),
                refusals(),
                keeper::wake);
    }

    private void warn(Leases.Board board) {
        if (policy.perModel() && !served.isEmpty()) {
            for (String model : models(board)) {
                if (served.add(model)) {
                    LOG.warn(
                            "pods cannot request this host's GPUs as {} before jnvdockerd is"
                                    + " restarted",
                            Quote.shown(model));
                }
            }
        }
    }

    @Override
    public void close() {
        world.parts().leases().decisions().removeListener(watch);
        keeper.close();
        watch.close();
    }
}
