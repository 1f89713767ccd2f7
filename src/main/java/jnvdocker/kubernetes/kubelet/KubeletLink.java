package jnvdocker.kubernetes.kubelet;

import jnvdocker.kubernetes.Kubelet;
import jnvdocker.kubernetes.PluginRegistration;
import jnvdocker.process.Processes;

import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/**
 * All connections with the kubelet of this host. Nothing of gRPC is loaded before the first of
 * these is opened.
 */
public final class KubeletLink implements AutoCloseable {
    private final GrpcLog log = GrpcLog.take();
    private final GrpcSockets grpc = new GrpcSockets();
    private final PluginDirectory directory;
    private final Kubelet kubelet;
    private Optional<Registrar> registrar = Optional.empty();

    private KubeletLink(Path kubeletDir, Processes processes) {
        directory = PluginDirectory.in(kubeletDir);
        kubelet = new GrpcKubelet(grpc, kubeletDir, processes);
    }

    /**
     * Opens a link, which registers nothing yet.
     *
     * @param kubeletDir such as {@code /var/lib/kubelet}; it need not be there yet
     */
    public static KubeletLink open(Path kubeletDir, Processes processes) {
        return new KubeletLink(kubeletDir, processes);
    }

    /** The kubelet, which may be queried before anything is registered. */
    public Kubelet kubelet() {
        return kubelet;
    }

    /** The means to serve the kubelet by other sockets, for as long as the link is open. */
    public GrpcSockets sockets() {
        return grpc;
    }

    /**
     * Serves these resources, and registers them whenever there is a kubelet, until this is closed.
     *
     * @throws IllegalStateException when it has been called before
     */
    public synchronized void serve(List<Resource> resources) {
        if (registrar.isPresent()) {
            throw new IllegalStateException("resources are served already");
        }
        registrar = Optional.of(Registrar.start(grpc, directory, resources));
    }

    /** The registration of each resource; empty before any is served. */
    public synchronized List<PluginRegistration> registrations() {
        return registrar.map(Registrar::registrations).orElse(List.of());
    }

    /** Removes the sockets; the kubelet then gives out no device until they are served again. */
    @Override
    public synchronized void close() {
        registrar.ifPresent(Registrar::close);
        grpc.close();
        log.close();
    }
}
