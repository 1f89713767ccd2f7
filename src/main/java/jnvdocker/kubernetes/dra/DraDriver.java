package jnvdocker.kubernetes.dra;

import com.google.protobuf.ByteString;

import io.grpc.ServerServiceDefinition;
import io.grpc.Status;
import io.grpc.StatusException;

import jnvdocker.holder.Periodic;
import jnvdocker.host.Gpu;
import jnvdocker.host.GpuInventory;
import jnvdocker.host.Host;
import jnvdocker.host.HostName;
import jnvdocker.kubernetes.KubeletDirectory;
import jnvdocker.kubernetes.KubernetesPolicy;
import jnvdocker.kubernetes.PluginRegistration;
import jnvdocker.kubernetes.PodClaims;
import jnvdocker.kubernetes.kubelet.Calls;
import jnvdocker.kubernetes.kubelet.DeviceStreams;
import jnvdocker.kubernetes.kubelet.GrpcServer;
import jnvdocker.kubernetes.kubelet.GrpcSockets;
import jnvdocker.nvml.CudaVersions;
import jnvdocker.nvml.GpuFacts;
import jnvdocker.posix.FileErrors;
import jnvdocker.posix.SocketFile;
import jnvdocker.words.Quote;
import jnvdocker.words.Refusal;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.function.Function;

/**
 * The driver: its resource slice, and its two sockets. A kubelet watches the directory of the first
 * one and registers the driver by itself, whenever one of the two starts.
 *
 * <pre>
 * KUBELET/plugins_registry/gpu.jnvdocker-reg.sock    type, name, and the path of the other
 * KUBELET/plugins/gpu.jnvdocker/dra.sock             prepares resource claims
 * </pre>
 */
public final class DraDriver implements AutoCloseable {
    /** The driver's name in resource slices, device classes and claims: a name of DNS. */
    public static final String NAME = "gpu.jnvdocker";

    private static final Logger LOG = LoggerFactory.getLogger(DraDriver.class);
    private static final String REGISTRATION = "pluginregistration.Registration";
    private static final String HEALTH = "v1alpha1.DRAResourceHealth";
    private static final Duration POLL = Duration.ofSeconds(2);
    private static final Duration END = Duration.ofSeconds(2);

    private final GrpcSockets grpc;
    private final Path kubeletDirectory;
    private final Path registrySocket;
    private final Path socket;
    private final ApiServer api;
    private final SlicePublisher slices;
    private final DraCalls calls;
    private final DeviceStreams health;
    private final Periodic thread = new Periodic("dra-sockets", POLL, this::review);

    private Optional<GrpcServer> plugin = Optional.empty();
    private Optional<GrpcServer> registrar = Optional.empty();
    private volatile PluginRegistration state =
            new PluginRegistration(NAME, new PluginRegistration.Trying(), Instant.now());

    /**
     * What is known of this host's GPUs, for the attributes of devices.
     *
     * @param facts what NVML has reported about a GPU by now
     */
    public record Knowledge(
            Host host,
            GpuInventory inventory,
            CudaVersions cuda,
            Function<Gpu, Optional<GpuFacts>> facts) {}

    private DraDriver(
            GrpcSockets grpc,
            Path kubeletDirectory,
            ApiServer api,
            String node,
            PodClaims pods,
            SliceDevices devices) {
        this.grpc = grpc;
        this.kubeletDirectory = kubeletDirectory;
        this.api = api;
        registrySocket = kubeletDirectory.resolve("plugins_registry").resolve(NAME + "-reg.sock");
        socket = kubeletDirectory.resolve("plugins").resolve(NAME).resolve("dra.sock");
        calls = new DraCalls(api, node, pods);
        slices = new SlicePublisher(api, node, new Source(pods, devices, api, node));
        pods.addListener(slices::wake);
        health = new DeviceStreams(() -> DraMessages.health(node, pods.health()), () -> {});
        pods.addListener(health::send);
    }

    /** The GPUs that pods may have, by the leases and by what the cluster has allocated. */
    private record Source(PodClaims pods, SliceDevices devices, AllocatedDevices allocated)
            implements SlicePublisher.Source {
        Source(PodClaims pods, SliceDevices devices, ApiServer api, String node) {
            this(pods, devices, new AllocatedDevices(api, node));
        }

        @Override
        public Optional<SliceDevices.Listed> devices(SliceDevices.Kept kept) {
            return pods.offers().map(it -> devices.of(it, kept));
        }

        @Override
        public void look() {
            try {
                pods.learn(allocated.of(pods.prepared()));
            } catch (IOException e) {
                // The kubelet's file is not there yet, or is being replaced.
                LOG.debug("what is allocated stays as it was: {}", FileErrors.describe(e));
            }
        }
    }

    /**
     * Serves the kubelet, and publishes the GPUs, from now on.
     *
     * @param grpc which is to be open for as long as the driver is
     * @param policy that has a cluster
     */
    public static DraDriver start(
            GrpcSockets grpc, KubernetesPolicy policy, PodClaims pods, Knowledge gpus)
            throws IOException {
        KubernetesPolicy.Cluster cluster = policy.cluster().orElseThrow();
        String host = HostName.read().toLowerCase(Locale.ROOT);
        DraDriver driver =
                new DraDriver(
                        grpc,
                        policy.kubeletDirectory(),
                        new ApiServer(cluster.kubeconfig()),
                        cluster.node().orElse(host),
                        pods,
                        new SliceDevices(gpus));
        driver.slices.start();
        driver.thread.start();
        return driver;
    }

    /** What has become of the driver, at the kubelet or at the API server. */
    public PluginRegistration registration() {
        PluginRegistration now = state;
        return slices.fault()
                .filter(_ -> now.state() instanceof PluginRegistration.Registered)
                .map(why ->
                        new PluginRegistration(
                                NAME, new PluginRegistration.Failed(why), now.since()))
                .orElse(now);
    }

    /** Listens where it does not yet: a kubelet makes its directories when it first starts. */
    private void review() {
        try {
            if (!Files.isDirectory(registrySocket.getParent())
                    || !SocketFile.answers(
                            kubeletDirectory.resolve("device-plugins/kubelet.sock"))) {
                report(new PluginRegistration.NoKubelet());
            }
            if (Files.isDirectory(registrySocket.getParent())) {
                KubeletDirectory.check(registrySocket.getParent());
                Files.createDirectories(socket.getParent());
                KubeletDirectory.check(socket.getParent());
                plugin = listening(plugin, socket, List.of(calls.service(), healthService()));
                registrar = listening(registrar, registrySocket, List.of(registration(socket)));
            }
        } catch (IOException e) {
            report(new PluginRegistration.Failed(FileErrors.refusal(e)));
        }
    }

    private Optional<GrpcServer> listening(
            Optional<GrpcServer> server, Path path, List<ServerServiceDefinition> services)
            throws IOException {
        if (server.filter(GrpcServer::isThere).isPresent()) {
            return server;
        }
        server.ifPresent(GrpcServer::close);
        return Optional.of(GrpcServer.listen(grpc, path, services));
    }

    /** Without it, a kubelet of Kubernetes 1.36 logs an error every few seconds. */
    private ServerServiceDefinition healthService() {
        return ServerServiceDefinition.builder(HEALTH)
                .addMethod(Calls.streaming(HEALTH, "NodeWatchResources"), health.handler())
                .build();
    }

    private ServerServiceDefinition registration(Path endpoint) {
        return ServerServiceDefinition.builder(REGISTRATION)
                .addMethod(
                        Calls.unary(REGISTRATION, "GetInfo"),
                        GrpcServer.unary(_ -> DraMessages.info(NAME, endpoint.toString())))
                .addMethod(
                        Calls.unary(REGISTRATION, "NotifyRegistrationStatus"),
                        GrpcServer.unary(this::registered))
                .build();
    }

    private ByteString registered(ByteString status) throws StatusException {
        try {
            String error = DraMessages.registrationError(status);
            report(
                    error.isEmpty()
                            ? new PluginRegistration.Registered()
                            : new PluginRegistration.Failed(
                                    new Refusal(Quote.lines(error), "see the kubelet's log")));
        } catch (IOException e) {
            throw Status.INVALID_ARGUMENT.withDescription(e.getMessage()).asException();
        }
        slices.check();
        return ByteString.EMPTY;
    }

    private synchronized void report(PluginRegistration.State next) {
        if (next.equals(state.state())) {
            return;
        }
        state = new PluginRegistration(NAME, next, Instant.now());
        switch (next) {
            case PluginRegistration.Registered _ -> LOG.info("the kubelet has registered {}", NAME);
            case PluginRegistration.NoKubelet _ ->
                    LOG.info("no kubelet runs in {}", kubeletDirectory);
            case PluginRegistration.Failed(Refusal why) ->
                    LOG.warn("the kubelet has not registered {}: {}", NAME, why.message());
            case PluginRegistration.Trying _, PluginRegistration.Competitor _ -> {}
        }
    }

    /** Ends, and takes the GPUs out of the cluster: this node is served otherwise from now on. */
    public void withdraw() {
        slices.withdraw();
    }

    /**
     * Removes the sockets. The kubelet then starts no pod with a claim; it deletes the resource
     * slice if they are not there again soon.
     */
    @Override
    public void close() {
        slices.close();
        thread.end(END);
        health.end();
        registrar.ifPresent(GrpcServer::close);
        plugin.ifPresent(GrpcServer::close);
        api.close();
    }
}
