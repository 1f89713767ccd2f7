package jnvdocker.rest;

import jnvdocker.command.gpu.GpuDocuments;
import jnvdocker.grant.Leases;
import jnvdocker.host.Host;
import jnvdocker.idle.IdleHolders;
import jnvdocker.nvml.CudaVersions;
import jnvdocker.nvml.GpuMonitor;
import jnvdocker.web.WebAnswer;
import jnvdocker.web.WebPages;
import jnvdocker.web.WebRequest;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Optional;
import java.util.function.BooleanSupplier;

/** All of these pages, and what they need. */
public final class RestPages implements WebPages, AutoCloseable {
    private final NvidiaDockerPages old;
    private final LeasePages leases;
    private final EventFeed feed;

    /**
     * @param socket the daemon's own
     * @param volumeDriver the name of our volume plugin
     * @param labels whether pids and programs are shown over TCP, too
     */
    public RestPages(
            Host host,
            CudaVersions cuda,
            GpuMonitor monitor,
            Leases leases,
            IdleHolders idle,
            Path socket,
            String volumeDriver,
            BooleanSupplier labels) {
        DeviceReport report =
                new DeviceReport(
                        host,
                        cuda,
                        monitor::readings,
                        monitor::topologies,
                        DeviceReport.Programs.ofThisMachine());
        GpuDocuments documents = new GpuDocuments(host, leases, monitor::readings, idle);
        this.old = new NvidiaDockerPages(host, report, volumeDriver, labels);
        this.feed = EventFeed.of(documents);
        this.leases = new LeasePages(documents, feed, socket);
        leases.addListener(feed);
    }

    @Override
    public Optional<WebAnswer> answer(WebRequest request) throws IOException {
        Optional<WebAnswer> answer = old.answer(request);
        return answer.isPresent() ? answer : leases.answer(request);
    }

    @Override
    public void close() {
        feed.close();
    }
}
