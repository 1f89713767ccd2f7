package jnvdocker.metrics;

import jnvdocker.command.gpu.view.GpuView;
import jnvdocker.core.Leases;
import jnvdocker.decision.DecisionCounts;
import jnvdocker.decision.RefusalReason;
import jnvdocker.host.HostDriver;
import jnvdocker.host.NoDriverException;
import jnvdocker.idle.IdleHolder;
import jnvdocker.lease.GpuStatus;
import jnvdocker.nvml.GpuMonitor.Reading;
import jnvdocker.web.WebAnswer;
import jnvdocker.web.WebPages;
import jnvdocker.web.WebRequest;

import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.function.BooleanSupplier;

/** {@code /metrics}, in Prometheus's text. */
public final class MetricsPage implements WebPages {
    private static final String PATH = "/metrics";

    /** For how long an answer is reused, so that endless requests do not keep the daemon busy. */
    private static final Duration FRESH = Duration.ofSeconds(1);

    private static final double NANO = 1e-9;

    private final GpuView view;
    private final Leases leases;
    private final BooleanSupplier namesOverTcp;
    private final UserTimes times = new UserTimes(Instant.now());
    private final Recent named = new Recent();
    private final Recent nameless = new Recent();

    /** The last answer. */
    private static final class Recent {
        private long at;
        private Optional<String> text = Optional.empty();

        Optional<String> text() {
            return text.filter(_ -> System.nanoTime() - at < FRESH.toNanos());
        }

        void keep(String now) {
            at = System.nanoTime();
            text = Optional.of(now);
        }
    }

    /**
     * @param namesOverTcp whether users, containers, images and claims are published over TCP
     */
    public MetricsPage(GpuView view, BooleanSupplier namesOverTcp) {
        this.view = view;
        this.leases = view.leases();
        this.namesOverTcp = namesOverTcp;
    }

    @Override
    public Optional<WebAnswer> answer(WebRequest request) throws IOException {
        if (!request.path().equals(PATH)) {
            return Optional.empty();
        }
        boolean names = request.trusted() || namesOverTcp.getAsBoolean();
        return Optional.of(WebAnswer.Page.of(Samples.TYPE, text(names)));
    }

    private synchronized String text(boolean names) throws IOException {
        Recent recent = names ? named : nameless;
        Optional<String> known = recent.text();
        if (known.isPresent()) {
            return known.get();
        }
        Samples samples = new Samples(names);
        addDecisions(samples);
        addQueue(samples);
        addGpus(samples);
        String text = samples.text();
        recent.keep(text);
        return text;
    }

    private void addDecisions(Samples samples) throws IOException {
        DecisionCounts.Counts now = leases.decisions().counts().now();
        samples.add(Metric.LEASES, leases.live().size());
        samples.add(Metric.GRANTED, (double) now.granted());
        samples.add(Metric.RECOVERED, (double) now.recovered());
        samples.add(Metric.RELEASED, (double) now.released());
        for (RefusalReason reason : RefusalReason.values()) {
            samples.add(
                    Metric.REFUSALS,
                    List.of(reason.name().toLowerCase(Locale.ROOT)),
                    now.refused().getOrDefault(reason, 0L));
        }
        Map<String, Duration> byUser = times.add(leases.gpuTime(times.read(), Optional.empty()));
        if (samples.isNamed()) {
            byUser.forEach((user, time) ->
                    samples.add(Metric.GPU_SECONDS, List.of(user), time.toNanos() * NANO));
        } else {
            Duration all = byUser.values().stream().reduce(Duration.ZERO, Duration::plus);
            samples.add(Metric.GPU_SECONDS, List.of(""), all.toNanos() * NANO);
        }
    }

    private void addQueue(Samples samples) throws IOException {
        List<Leases.Waiter> waiting = leases.waiting();
        Instant now = Instant.now();
        Duration longest =
                waiting.stream()
                        .map(waiter -> Duration.between(waiter.ticket().since(), now))
                        .reduce(
                                Duration.ZERO,
                                (one, other) -> one.compareTo(other) > 0 ? one : other);
        samples.add(Metric.WAITING, waiting.size());
        samples.add(Metric.LONGEST_WAIT, longest.toNanos() * NANO);
        samples.add(Metric.REFUSED_STARTS, leases.claims().refusedStarts().size());
    }

    private void addGpus(Samples samples) throws IOException {
        List<GpuStatus> gpus;
        try {
            HostDriver host = HostDriver.read(view.host());
            samples.add(Metric.DRIVER, List.of(host.version().text()), 1);
            gpus = leases.status(host.gpus());
        } catch (NoDriverException e) {
            // GPUs that are held are MISSING then.
            gpus = leases.status(List.of());
        }
        for (GpuStatus.State state : GpuStatus.State.values()) {
            long count = gpus.stream().filter(gpu -> gpu.state() == state).count();
            samples.add(Metric.GPUS, List.of(state.name()), (double) count);
        }
        Map<String, Reading> read = view.readings().get();
        List<IdleHolder> holders = view.idle().idle();
        for (GpuStatus gpu : gpus) {
            GpuSamples its = new GpuSamples(samples, gpu);
            its.addStatus(gpu);
            addIdle(its, gpu, holders);
            for (GpuStatus other : gpu.others()) {
                GpuSamples ofOther = new GpuSamples(samples, other);
                ofOther.addLease(other);
                addIdle(ofOther, other, holders);
            }
            Optional.ofNullable(read.get(gpu.gpu().pciAddress()))
                    .map(reading -> reading.of(gpu.gpu()))
                    .ifPresent(its::addReading);
        }
    }

    private static void addIdle(GpuSamples its, GpuStatus gpu, List<IdleHolder> holders) {
        holders.stream().filter(it -> isOf(it, gpu)).forEach(its::addIdle);
    }

    private static boolean isOf(IdleHolder holder, GpuStatus gpu) {
        return holder.gpu().uuid().equals(gpu.gpu().uuid())
                && gpu.lease().filter(it -> it.id() == holder.lease().id()).isPresent();
    }
}
