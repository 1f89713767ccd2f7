package jnvdocker.rest;

import jnvdocker.command.gpu.GpuDocuments;
import jnvdocker.grant.Leases;
import jnvdocker.host.Host;
import jnvdocker.idle.IdleHolders;
import jnvdocker.nvml.CudaVersions;
import jnvdocker.nvml.GpuMonitor;
import jnvdocker.page.GpuRecorder;
import jnvdocker.page.PageFiles;
import jnvdocker.web.WebAnswer;
import jnvdocker.web.WebPages;
import jnvdocker.web.WebRequest;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;

/** All of these pages, and what they need. */
public final class RestPages implements WebPages, AutoCloseable {
    private final NvidiaDockerPages old;
    private final LeasePages leases;
    private final PageFiles files = new PageFiles();
    private final GpuRecorder recorder;
    private final EventFeed feed;

    /**
     * @param kept for how long leases are kept; empty if for ever
     * @param socket the daemon's own
     * @param volumeDriver the name of our volume plugin
     * @param labels whether users, containers and programs are shown over TCP, too
     */
    public RestPages(
            Host host,
            CudaVersions cuda,
            GpuMonitor monitor,
            Leases leases,
            IdleHolders idle,
            Supplier<Optional<Duration>> kept,
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
        this.recorder = GpuRecorder.start(host, leases, monitor::known, kept);
        this.leases =
                new LeasePages(
                        documents, feed, leases, recorder::utilization, kept, socket, labels);
        leases.addListener(feed);
    }

    @Override
    public Optional<WebAnswer> answer(WebRequest request) throws IOException {
        for (WebPages some : List.of(old, leases, files)) {
            Optional<WebAnswer> answer = some.answer(request);
            if (answer.isPresent()) {
                return answer;
            }
        }
        return Optional.empty();
    }

    @Override
    public void close() {
        recorder.close();
        feed.close();
    }
}
