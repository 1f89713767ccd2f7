package jnvdocker.rest;

import jnvdocker.command.gpu.show.GpuDocuments;
import jnvdocker.command.gpu.view.GpuSettings;
import jnvdocker.command.gpu.view.GpuView;
import jnvdocker.nvml.CudaVersions;
import jnvdocker.nvml.GpuMonitor.Reading;
import jnvdocker.page.GpuRecorder;
import jnvdocker.page.PageFiles;
import jnvdocker.web.WebAnswer;
import jnvdocker.web.WebPages;
import jnvdocker.web.WebRequest;

import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;

/** All of these pages, and what they need. */
public final class RestPages implements WebPages, AutoCloseable {
    private final NvidiaDockerPages old;
    private final LeasePages leases;
    private final PageFiles files = new PageFiles();
    private final GpuRecorder recorder;
    private final EventFeed feed;

    /**
     * @param known what NVML reported, without a new reading, by PCI address
     */
    public RestPages(
            GpuView view,
            CudaVersions cuda,
            Supplier<Map<String, Reading>> known,
            GpuSettings settings) {
        GpuDocuments documents = new GpuDocuments(view);
        DeviceReport report = new DeviceReport(view, cuda, DeviceReport::program);
        this.old = new NvidiaDockerPages(report, settings.page().labels());
        this.feed = EventFeed.of(documents);
        this.recorder =
                GpuRecorder.start(view.host(), view.leases(), known, settings.keepHistory());
        this.leases =
                new LeasePages(documents, feed, view.leases(), recorder::utilization, settings);
        view.leases().decisions().addListener(feed);
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
