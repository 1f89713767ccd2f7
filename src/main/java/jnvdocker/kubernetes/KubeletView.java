package jnvdocker.kubernetes;

import jnvdocker.kubernetes.Kubelet.ContainerDevices;
import jnvdocker.posix.FileErrors;
import jnvdocker.posix.ProcessId;
import jnvdocker.request.GpuResolver;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** The state that a kubelet reports: its answers, and its file. */
final class KubeletView {
    private static final Logger LOG = LoggerFactory.getLogger(KubeletView.class);

    private final Kubelet kubelet;
    private final Path directory;
    private volatile Optional<ProcessId> last = Optional.empty();
    private volatile String complaint = "";

    KubeletView(Kubelet kubelet, Path directory) {
        this.kubelet = kubelet;
        this.directory = directory;
    }

    /**
     * What it answers, with what its file adds to that.
     *
     * @throws IOException when it does not answer; its file alone may name pods that have ended
     */
    DeviceHolders query(Duration limit) throws IOException {
        List<ContainerDevices> containers =
                kubelet.list(limit).stream()
                        .filter(it -> it.ids().stream().anyMatch(GpuResolver::isUuid))
                        .toList();
        // All or none: a pod that is left out would lose its GPUs.
        if (containers.size() > CheckpointFile.MOST_CONTAINERS) {
            throw new IOException(
                    "the kubelet lists more than "
                            + CheckpointFile.MOST_CONTAINERS
                            + " containers with GPUs");
        }
        return new DeviceHolders(containers, checkpoint());
    }

    /** All that can be learnt now, which may be nothing. */
    DeviceHolders queryOrRead(Duration limit) {
        try {
            return query(limit);
        } catch (IOException e) {
            LOG.debug("the kubelet does not report its pods", e);
            return new DeviceHolders(List.of(), checkpoint());
        }
    }

    /** Reads the kubelet's file; empty when it cannot be read. */
    Checkpoint checkpoint() {
        try {
            Checkpoint checkpoint = Checkpoint.read(directory);
            complaint = "";
            return checkpoint;
        } catch (IOException e) {
            complain(FileErrors.describe(e));
            return Checkpoint.NONE;
        }
    }

    /**
     * The resource claims that are prepared, by their uids.
     *
     * @throws IOException when the kubelet's file cannot be read: any pod may have a claim then
     */
    Map<String, PreparedClaim> claims() throws IOException {
        return new ClaimFile(directory).read();
    }

    /** Logs a failure once: the file is read every few seconds. */
    private void complain(String why) {
        if (!why.equals(complaint)) {
            LOG.warn("pods are known by their names only: {}", why);
        }
        complaint = why;
    }

    /**
     * The kubelet's process; while it starts again, that of the last one.
     *
     * @throws IOException when there has been none
     */
    ProcessId process() throws IOException {
        try {
            last = Optional.of(kubelet.process());
        } catch (IOException e) {
            if (last.isEmpty()) {
                throw e;
            }
        }
        return last.orElseThrow();
    }
}
