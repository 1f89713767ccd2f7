package jnvdocker.kubernetes.node;

import jnvdocker.core.LeaseParts;
import jnvdocker.host.Host;
import jnvdocker.kubernetes.KubernetesPolicy;
import jnvdocker.kubernetes.PluginRegistration;
import jnvdocker.kubernetes.PodClaims;
import jnvdocker.kubernetes.PodInjection;
import jnvdocker.kubernetes.PodLeases;
import jnvdocker.kubernetes.PodParts;
import jnvdocker.kubernetes.dra.DraDriver;
import jnvdocker.kubernetes.kubelet.KubeletLink;
import jnvdocker.kubernetes.kubelet.Resource;
import jnvdocker.posix.PermanentThread;

import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.Semaphore;
import java.util.function.Supplier;

/**
 * Serves this host's kubelet, if the configuration says so. It serves on a thread of its own:
 * nothing else waits for a scan of the GPUs, or for a kubelet.
 */
final class KubernetesParts implements AutoCloseable {

    /** The time limit of the first scan of the GPUs, and of the driver's files. */
    private static final Duration SCAN_LIMIT = Duration.ofSeconds(5);

    /** The time limit for its thread to end and to close its socket. */
    private static final Duration END = Duration.ofSeconds(5);

    /** The time limit of the first registration. */
    private static final Duration FIRST = Duration.ofSeconds(8);

    private static final Duration STEP = Duration.ofMillis(50);

    private final LeaseParts parts;
    private final LeaseParts.World world;
    private final PodLeases leases;
    private final Host host;
    private final PodInjection edits;
    private final Supplier<KubernetesPolicy> policy;
    private final Semaphore changes = new Semaphore(0);
    private final Thread thread = PermanentThread.virtual("kubernetes", this::keep);
    private final DraDriver.Knowledge gpus;

    /** What has become of each resource, or of the driver. */
    private volatile Supplier<List<PluginRegistration>> served = List::of;

    /**
     * @param edits what pods get with their GPUs
     * @param policy as it is now
     * @param gpus what is known of them
     */
    KubernetesParts(
            LeaseParts parts,
            LeaseParts.World world,
            PodLeases leases,
            Host host,
            PodInjection edits,
            Supplier<KubernetesPolicy> policy,
            DraDriver.Knowledge gpus) {
        this.parts = parts;
        this.world = world;
        this.leases = leases;
        this.host = host;
        this.edits = edits;
        this.policy = policy;
        this.gpus = gpus;
    }

    /** Runs before requests are served: running pods keep their GPUs, even without the registry. */
    KubernetesParts start() throws IOException {
        begin(policy.get());
        thread.start();
        return this;
    }

    /** Follows the policy, which may have changed. */
    void follow() {
        changes.release();
    }

    private void begin(KubernetesPolicy now) throws IOException {
        if (now.enabled()) {
            PodParts.restore(leases, now.kubeletDirectory());
        } else {
            leases.report().stop();
        }
    }

    /**
     * What has become of each resource, after the first try of each, if that ends soon; empty as
     * long as none is served.
     */
    List<PluginRegistration> registrations() {
        long end = System.nanoTime() + FIRST.toNanos();
        List<PluginRegistration> all = now();
        while (policy.get().enabled() && isTrying(all) && System.nanoTime() < end) {
            try {
                Thread.sleep(STEP);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                return all;
            }
            all = now();
        }
        return all;
    }

    private List<PluginRegistration> now() {
        return served.get();
    }

    private static boolean isTrying(List<PluginRegistration> all) {
        return all.isEmpty()
                || all.stream().anyMatch(it -> it.state() instanceof PluginRegistration.Trying);
    }

    private void keep() throws InterruptedException, IOException {
        while (true) {
            KubernetesPolicy now = policy.get();
            begin(now);
            if (now.enabled()) {
                serve(now);
            } else {
                awaitOtherThan(now);
            }
        }
    }

    private void awaitOtherThan(KubernetesPolicy served) throws InterruptedException {
        while (policy.get().isServedLike(served)) {
            changes.acquire();
        }
    }

    private void serve(KubernetesPolicy now) throws InterruptedException, IOException {
        Supplier<KubernetesPolicy> its = () -> now.giving(policy.get().gpus());
        try (KubeletLink opened = KubeletLink.open(now.kubeletDirectory(), world.processes());
                PodParts pods =
                        PodParts.start(
                                new PodParts.World(
                                        parts,
                                        leases,
                                        world.inventory(),
                                        host,
                                        opened.kubelet(),
                                        edits,
                                        its))) {
            edits.awaitFirstScan(SCAN_LIMIT);
            if (now.cluster().isPresent()) {
                serveClaims(now, opened, pods);
            } else {
                served = opened::registrations;
                opened.serve(
                        pods.plugins(SCAN_LIMIT).entrySet().stream()
                                .map(it -> new Resource(it.getKey(), it.getValue()))
                                .toList());
                awaitOtherThan(now);
            }
        } finally {
            served = List::of;
        }
    }

    private void serveClaims(KubernetesPolicy now, KubeletLink opened, PodParts pods)
            throws InterruptedException, IOException {
        PodClaims claims = pods.claims(SCAN_LIMIT);
        try (DraDriver driver = DraDriver.start(opened.sockets(), now, claims, gpus)) {
            served = () -> List.of(driver.registration());
            awaitOtherThan(now);
            driver.withdraw();
        }
    }

    @Override
    public void close() {
        PermanentThread.end(thread, END);
    }
}
