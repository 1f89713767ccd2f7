package jnvdocker.page;

import jnvdocker.core.Leases;
import jnvdocker.holder.Periodic;
import jnvdocker.host.Gpu;
import jnvdocker.host.Host;
import jnvdocker.host.HostDriver;
import jnvdocker.host.NoDriverException;
import jnvdocker.lease.GpuStatus;
import jnvdocker.lease.Owner;
import jnvdocker.lease.Trouble;
import jnvdocker.lease.text.LeaseText;
import jnvdocker.nvml.GpuMonitor.Reading;
import jnvdocker.posix.FileErrors;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.function.Supplier;
import java.util.stream.Collectors;

/**
 * Keeps what is over when somebody wants to see it, and is kept nowhere else: the utilization of
 * the last hour, in memory, and the times in which GPUs were sick, cordoned or used without a
 * lease, in the registry. It reads what the monitor of the GPUs knows, and scans the GPUs once a
 * minute.
 */
public final class GpuRecorder implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(GpuRecorder.class);

    /** That of the monitor when nobody requests its readings. */
    private static final Duration PERIOD = Duration.ofSeconds(10);

    private static final Duration BETWEEN_SCANS = Duration.ofMinutes(1);

    /** A trouble that one scan has missed goes on. */
    private static final Duration GAP = BETWEEN_SCANS.multipliedBy(3);

    /** Rows are deleted in these intervals where there is no trouble to write. */
    private static final Duration BETWEEN_WRITES = Duration.ofHours(1);

    private final Host host;
    private final Leases leases;
    private final Supplier<Map<String, Reading>> readings;
    private final Supplier<Optional<Duration>> kept;
    private final Periodic thread;

    /** By UUID. */
    private final Map<String, LastHour> hours = new HashMap<>();

    private long scanned = System.nanoTime();
    private long written = System.nanoTime();

    private GpuRecorder(
            Host host,
            Leases leases,
            Supplier<Map<String, Reading>> readings,
            Supplier<Optional<Duration>> kept) {
        this.host = host;
        this.leases = leases;
        this.readings = readings;
        this.kept = kept;
        this.thread = new Periodic("recorder", PERIOD, this::record);
    }

    /**
     * Begins.
     *
     * @param readings what NVML last reported about each GPU, by PCI address
     * @param kept for how long the history is kept; empty keeps all
     */
    public static GpuRecorder start(
            Host host,
            Leases leases,
            Supplier<Map<String, Reading>> readings,
            Supplier<Optional<Duration>> kept) {
        GpuRecorder recorder = new GpuRecorder(host, leases, readings, kept);
        recorder.thread.start();
        return recorder;
    }

    /**
     * Returns the utilization in each minute of the last hour, in percent, the oldest first; null
     * where nothing is known. By UUID.
     */
    public synchronized Map<String, List<Integer>> utilization() {
        long minute = minute();
        return hours.entrySet().stream()
                .collect(Collectors.toMap(Map.Entry::getKey, it -> it.getValue().until(minute)));
    }

    private static long minute() {
        return Instant.now().getEpochSecond() / 60;
    }

    private void record() {
        try {
            List<Gpu> gpus = HostDriver.read(host).gpus();
            sample(gpus);
            if (System.nanoTime() - scanned >= BETWEEN_SCANS.toNanos()) {
                scanned = System.nanoTime();
                recordTroubles(gpus);
            }
        } catch (NoDriverException e) {
            LOG.debug("no GPUs to record: {}", e.getMessage());
        } catch (IOException e) {
            LOG.debug("the GPUs' states are not recorded: {}", FileErrors.describe(e));
        }
    }

    private synchronized void sample(List<Gpu> gpus) {
        Map<String, Reading> read = readings.get();
        Set<String> present = gpus.stream().map(Gpu::uuid).collect(Collectors.toSet());
        hours.keySet().retainAll(present);
        for (Gpu gpu : gpus) {
            OptionalInt utilization =
                    Optional.ofNullable(read.get(gpu.pciAddress()))
                            .flatMap(it -> it.of(gpu).figures())
                            .map(it -> it.utilization().gpu())
                            .orElse(OptionalInt.empty());
            utilization.ifPresent(percent ->
                    hours.computeIfAbsent(gpu.uuid(), _ -> new LastHour()).add(minute(), percent));
        }
    }

    private void recordTroubles(List<Gpu> gpus) throws IOException {
        Instant now = leases.timeline().now();
        List<Trouble> troubles = new ArrayList<>();
        for (GpuStatus status : leases.status(gpus)) {
            if (status.state().isTrouble() && status.gpu().isIdentified()) {
                Optional<String> user = status.user().flatMap(LeaseText::owner).map(Owner::name);
                troubles.add(new Trouble(status.gpu().uuid(), status.state(), user, now, now));
            }
        }
        if (!troubles.isEmpty() || System.nanoTime() - written >= BETWEEN_WRITES.toNanos()) {
            written = System.nanoTime();
            leases.timeline().write(troubles, GAP, kept.get());
        }
    }

    @Override
    public void close() {
        thread.end(Duration.ZERO);
    }
}
