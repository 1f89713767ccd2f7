package jnvdocker.kubernetes.kubelet;

import jnvdocker.holder.Periodic;
import jnvdocker.kubernetes.PluginRegistration;
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

    /** How long another plugin, or a kubelet, may keep the thread at most. */
    private static final Duration END = Duration.ofMinutes(1);

    private final PluginDirectory directory;
    private final Competitors competitors;
    private final List<ResourceRegistrar> resources;
    private final DirectoryWatch watch;
    private Duration pause = POLL;
    private final Periodic thread = new Periodic("registrar", () -> pause, this::review);

    private Registrar(GrpcSockets grpc, PluginDirectory directory, List<Resource> resources) {
        this.directory = directory;
        this.competitors = new Competitors(grpc);
        this.resources =
                resources.stream()
                        .map(it -> new ResourceRegistrar(grpc, directory, it, thread::wake))
                        .toList();
        watch = new DirectoryWatch(directory.path(), POLL, thread::wake);
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

    List<PluginRegistration> registrations() {
        return resources.stream().map(ResourceRegistrar::registration).toList();
    }

    private void review() {
        pause = POLL;
        Optional<Refusal> fault = directory.fault();
        if (fault.isPresent()) {
            resources.forEach(resource -> resource.withdraw(fault.get()));
            return;
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
        pause = competitors.isSettled() ? POLL : SOON;
        for (ResourceRegistrar resource : resources) {
            Duration its = resource.review(kubelet, competitor, POLL);
            pause = its.compareTo(pause) < 0 ? its : pause;
        }
    }

    /** Ends the servers, too, before it returns. */
    @Override
    public void close() {
        watch.close();
        thread.end(END);
        resources.forEach(ResourceRegistrar::close);
    }
}
