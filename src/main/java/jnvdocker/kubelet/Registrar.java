package jnvdocker.kubelet;

import jnvdocker.kubernetes.Registration;
import jnvdocker.posix.PermanentThread;
import jnvdocker.words.Refusal;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.nio.file.Path;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;

/**
 * Keeps resources registered: checks the kubelet's directory whenever something changes in it, when
 * a kubelet no longer reads the devices, and every few seconds.
 */
final class Registrar implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Registrar.class);
    private static final Duration POLL = Duration.ofSeconds(5);

    /** When a plugin has made its socket, but does not listen yet. */
    private static final Duration SOON = Duration.ofMillis(200);

    private final PluginDirectory directory;
    private final Competitors competitors;
    private final List<ResourceRegistrar> resources;
    private final Semaphore news = new Semaphore(0);
    private final DirectoryWatch watch;
    private final Thread thread;
    private volatile boolean closing;

    private Registrar(GrpcSockets grpc, PluginDirectory directory, List<Resource> resources) {
        this.directory = directory;
        this.competitors = new Competitors(grpc);
        this.resources =
                resources.stream()
                        .map(it -> new ResourceRegistrar(grpc, directory, it, news::release))
                        .toList();
        watch = new DirectoryWatch(directory.path(), POLL, news::release);
        thread = PermanentThread.platform("registrar", this::keep);
    }

    static Registrar start(GrpcSockets grpc, PluginDirectory directory, List<Resource> resources) {
        Registrar registrar = new Registrar(grpc, directory, resources);
        LOG.info(
                "offering {} to the kubelet at {}",
                resources.stream().map(Resource::name).collect(Collectors.joining(", ")),
                directory.kubelet());
        registrar.watch.start();
        registrar.thread.start();
        return registrar;
    }

    List<Registration> registrations() {
        return resources.stream().map(ResourceRegistrar::registration).toList();
    }

    private void keep() {
        try {
            while (!closing) {
                Duration wait = review();
                news.tryAcquire(wait.toNanos(), TimeUnit.NANOSECONDS);
                news.drainPermits();
            }
        } catch (InterruptedException e) {
            // It is closing.
        }
    }

    private Duration review() {
        Optional<Refusal> fault = directory.fault();
        if (fault.isPresent()) {
            resources.forEach(resource -> resource.withdraw(fault.get()));
            return POLL;
        }
        Optional<Object> kubelet = directory.kubeletNow();
        Map<Path, Object> others = directory.plugins();
        Set<String> uuids = new HashSet<>();
        for (ResourceRegistrar resource : resources) {
            others.remove(resource.socket());
            uuids.addAll(resource.uuids());
        }
        competitors.update(others);
        Optional<Path> competitor = competitors.with(uuids);
        Duration wait = competitors.isSettled() ? POLL : SOON;
        for (ResourceRegistrar resource : resources) {
            Duration its = resource.review(kubelet, competitor, POLL);
            wait = its.compareTo(wait) < 0 ? its : wait;
        }
        return wait;
    }

    /** Ends the servers, too, before it returns. */
    @Override
    public void close() {
        closing = true;
        watch.close();
        thread.interrupt();
        try {
            thread.join();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        resources.forEach(ResourceRegistrar::close);
    }
}
