package jnvdocker.daemon;

import jnvdocker.grant.LeaseParts;
import jnvdocker.host.Host;
import jnvdocker.kubelet.KubeletLink;
import jnvdocker.kubelet.Resource;
import jnvdocker.kubernetes.KubernetesPolicy;
import jnvdocker.kubernetes.PodInjection;
import jnvdocker.kubernetes.PodParts;
import jnvdocker.kubernetes.Registration;
import jnvdocker.posix.PermanentThread;

import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.function.Supplier;

/**
 * Serves this host's kubelet, if the configuration says so. All of it begins on a thread of its
 * own: nobody else waits for a look at the GPUs, or for a kubelet.
 */
final class KubernetesParts implements AutoCloseable {

    /** For the first look at the GPUs, and at the driver's files. */
    private static final Duration LOOK = Duration.ofSeconds(5);

    /** For its thread to end, in which an open socket may still be closed. */
    private static final Duration END = Duration.ofSeconds(5);

    private final LeaseParts parts;
    private final LeaseParts.World world;
    private final Host host;
    private final PodInjection edits;
    private final Supplier<KubernetesPolicy> policy;
    private final Thread thread = PermanentThread.virtual("kubernetes", this::serve);
    private volatile Optional<KubeletLink> link = Optional.empty();

    /**
     * @param edits what pods get with their GPUs
     * @param policy in which only the GPUs may change
     */
    KubernetesParts(
            LeaseParts parts,
            LeaseParts.World world,
            Host host,
            PodInjection edits,
            Supplier<KubernetesPolicy> policy) {
        this.parts = parts;
        this.world = world;
        this.host = host;
        this.edits = edits;
        this.policy = policy;
    }

    /** Before anybody else is served: pods that run keep their GPUs, also without the registry. */
    KubernetesParts start() throws IOException {
        if (policy.get().enabled()) {
            PodParts.restore(parts.pods(), policy.get().kubeletFolder());
            thread.start();
        } else {
            parts.pods().stop();
        }
        return this;
    }

    /** What has become of each resource; empty as long as none is served. */
    List<Registration> registrations() {
        return link.map(KubeletLink::registrations).orElse(List.of());
    }

    private void serve() {
        try (KubeletLink opened =
                KubeletLink.open(policy.get().kubeletFolder(), world.processes())) {
            PodParts.World its =
                    new PodParts.World(
                            parts, world.inventory(), host, opened.kubelet(), edits, policy);
            try (PodParts pods = PodParts.start(its)) {
                link = Optional.of(opened);
                edits.awaitFirstLook(LOOK);
                opened.serve(
                        pods.plugins(LOOK).entrySet().stream()
                                .map(it -> new Resource(it.getKey(), it.getValue()))
                                .toList());
                new CountDownLatch(1).await(); // Until it is closed.
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    @Override
    public void close() {
        if (thread.getState() == Thread.State.NEW) {
            return; // No kubelet was served.
        }
        thread.interrupt();
        try {
            thread.join(END);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
