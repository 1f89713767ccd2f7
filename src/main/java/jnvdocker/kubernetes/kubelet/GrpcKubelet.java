package jnvdocker.kubernetes.kubelet;

import com.google.protobuf.ByteString;

import jnvdocker.kubernetes.Kubelet;
import jnvdocker.kubernetes.KubeletDirectory;
import jnvdocker.posix.FileErrors;
import jnvdocker.posix.Posix;
import jnvdocker.posix.ProcessId;
import jnvdocker.process.Processes;

import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.SocketChannel;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;

/** Queries a kubelet through its sockets, with one request at a time. */
final class GrpcKubelet implements Kubelet {
    private final GrpcSockets grpc;
    private final Path socket;
    private final Path lister;
    private final Processes processes;
    private final Semaphore turn = new Semaphore(1);

    /**
     * @param kubeletDir such as {@code /var/lib/kubelet}
     */
    GrpcKubelet(GrpcSockets grpc, Path kubeletDir, Processes processes) {
        this.grpc = grpc;
        this.socket = PluginDirectory.in(kubeletDir).kubelet();
        this.lister = kubeletDir.resolve("pod-resources/kubelet.sock");
        this.processes = processes;
    }

    @Override
    public ProcessId process() throws IOException {
        KubeletDirectory.check(socket.getParent());
        int pid;
        try (SocketChannel channel = SocketChannel.open(StandardProtocolFamily.UNIX)) {
            channel.configureBlocking(false);
            channel.connect(UnixDomainSocketAddress.of(socket));
            pid = Posix.peer(channel).pid();
        } catch (IOException e) {
            throw new IOException(
                    "no kubelet serves " + socket + " (" + FileErrors.reason(e) + ")", e);
        }
        return processes
                .find(pid)
                .orElseThrow(() ->
                        new IOException(
                                "the process that serves %s is not known (pid %s)"
                                        .formatted(socket, pid)));
    }

    @Override
    public List<ContainerDevices> list(Duration limit) throws IOException {
        KubeletDirectory.check(lister.getParent());
        long end = System.nanoTime() + limit.toNanos();
        if (!taken(limit)) {
            throw new IOException(
                    "the kubelet has not answered at " + lister + " (another question waits)");
        }
        try {
            Duration left = Duration.ofNanos(Math.max(1, end - System.nanoTime()));
            ByteString answer = grpc.request(lister, Calls.LIST, ByteString.EMPTY, left);
            return PodResources.parse(answer).merged();
        } catch (IOException e) {
            throw new IOException(
                    "the kubelet has not answered at " + lister + " (" + e.getMessage() + ")", e);
        } finally {
            turn.release();
        }
    }

    private boolean taken(Duration limit) throws IOException {
        try {
            return turn.tryAcquire(limit.toNanos(), TimeUnit.NANOSECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException("interrupted during a request to the kubelet", e);
        }
    }
}
