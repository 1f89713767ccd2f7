package jnvdocker.metrics;

import jnvdocker.host.Part;
import jnvdocker.idle.IdleHolder;
import jnvdocker.lease.Claim;
import jnvdocker.lease.GpuStatus;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Origin;
import jnvdocker.nvml.GpuFacts;
import jnvdocker.nvml.GpuFigures;
import jnvdocker.nvml.GpuMonitor.Reading;

import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** Adds what is known of one GPU, with its holder. */
final class GpuSamples {
    private static final double PERCENT = 0.01;
    private static final double MILLI = 0.001;
    private static final double MEGA = 1e6;
    private static final double KILO = 1000;

    private final Samples samples;
    private final List<String> gpu;
    private final List<String> held;

    GpuSamples(Samples samples, GpuStatus status) {
        this.samples = samples;
        gpu = List.of(status.gpu().uuid(), status.gpu().number());
        held = new ArrayList<>(gpu);
        held.addAll(status.lease().map(GpuSamples::names).orElse(List.of("", "", "", "")));
    }

    /** User, container, image, claim. */
    private static List<String> names(Lease lease) {
        Claim claim = lease.claim();
        return List.of(
                UserTimes.name(claim.owner()),
                container(claim),
                claim.origin().image().orElse(""),
                claim.id());
    }

    private static String container(Claim claim) {
        return claim.origin()
                .pod()
                .map(Origin.Pod::title)
                .orElse(claim.container().map(Claim.ContainerRef::name).orElse(""));
    }

    void addStatus(GpuStatus status) {
        samples.add(
                Metric.GPU,
                List.of(
                        status.gpu().uuid(),
                        status.gpu().number(),
                        status.gpu().model(),
                        status.gpu().pciAddress(),
                        status.gpu().part().map(Part::parent).orElse("")),
                1);
        samples.add(Metric.STATE, with(status.state().name()), 1);
        addLease(status);
        status.idleSince().ifPresent(since -> samples.add(Metric.FREE_SINCE, gpu, seconds(since)));
    }

    void addLease(GpuStatus status) {
        status.lease()
                .ifPresent(lease -> samples.add(Metric.LEASE_START, held, seconds(lease.since())));
        status.lease()
                .flatMap(Lease::due)
                .ifPresent(due -> samples.add(Metric.LEASE_DUE, held, seconds(due)));
        status.share()
                .ifPresent(
                        share -> samples.add(Metric.SHARE, held, (double) share.amount().bytes()));
    }

    void addIdle(IdleHolder holder) {
        String source = holder.source().name().toLowerCase(Locale.ROOT);
        samples.add(Metric.IDLE_SINCE, with(source), seconds(holder.since()));
    }

    private static double seconds(Instant time) {
        return time.toEpochMilli() * MILLI;
    }

    /** The labels of the GPU and its holder, and one more. */
    private List<String> with(String own) {
        List<String> labels = new ArrayList<>(held);
        labels.add(own);
        return labels;
    }

    void addReading(Reading reading) {
        samples.add(Metric.NVML_UP, gpu, reading.figures().isPresent());
        samples.add(Metric.READ, gpu, seconds(reading.at()));
        reading.facts().ifPresent(this::addFacts);
        reading.figures().ifPresent(this::addFigures);
    }

    private void addFacts(GpuFacts facts) {
        samples.add(Metric.POWER_LIMIT, held, facts.powerLimit(), MILLI);
        addClocks(Metric.CLOCK_MAX, facts.maxClocks());
        samples.add(Metric.MEMORY, held, facts.memory());
        samples.add(Metric.BAR1, held, facts.bar1());
    }

    private void addClocks(Metric metric, GpuFacts.Clocks clocks) {
        samples.add(metric, with("graphics"), clocks.graphics(), MEGA);
        samples.add(metric, with("sm"), clocks.sm(), MEGA);
        samples.add(metric, with("memory"), clocks.memory(), MEGA);
    }

    private void addFigures(GpuFigures figures) {
        GpuFigures.Utilization utilization = figures.utilization();
        samples.add(Metric.UTILIZATION, held, utilization.gpu(), PERCENT);
        samples.add(Metric.MEMORY_UTILIZATION, held, utilization.memory(), PERCENT);
        samples.add(Metric.ENCODER_UTILIZATION, held, utilization.encoder(), PERCENT);
        samples.add(Metric.DECODER_UTILIZATION, held, utilization.decoder(), PERCENT);
        figures.memory().ifPresent(it -> samples.add(Metric.MEMORY_USED, held, (double) it.used()));
        figures.bar1().ifPresent(it -> samples.add(Metric.BAR1_USED, held, (double) it.used()));
        samples.add(Metric.PROCESSES, held, figures.processes().size());
        samples.add(Metric.POWER, held, figures.power(), MILLI);
        samples.add(Metric.TEMPERATURE, held, figures.temperature(), 1);
        samples.add(Metric.FAN, held, figures.fan(), PERCENT);
        addClocks(Metric.CLOCK, figures.clocks());
        figures.throttling().ifPresent(this::addThrottling);
        samples.add(Metric.PCIE_GENERATION, held, figures.link().generation(), 1);
        samples.add(Metric.PCIE_LANES, held, figures.link().width(), 1);
        samples.add(Metric.PCIE_SENT, held, figures.throughput().sent(), KILO);
        samples.add(Metric.PCIE_RECEIVED, held, figures.throughput().received(), KILO);
        addErrors(figures.errors());
        samples.add(Metric.PERSISTENT, held, figures.persistent());
        samples.add(Metric.MIG, held, figures.mig().map(GpuFigures.Mig::enabled));
    }

    private void addThrottling(long bits) {
        for (Throttling reason : Throttling.values()) {
            samples.add(Metric.THROTTLED, with(reason.label()), reason.isIn(bits));
        }
    }

    private void addErrors(GpuFigures.Errors errors) {
        samples.add(Metric.ECC, held, errors.ecc());
        samples.add(Metric.ECC_ERRORS, with("corrected"), errors.corrected());
        samples.add(Metric.ECC_ERRORS, with("uncorrected"), errors.uncorrected());
        samples.add(Metric.RETIRED_PAGES, held, errors.retiredPages(), 1);
        samples.add(Metric.REMAPPED_ROWS, held, errors.remappedRows(), 1);
        if (errors.retiredPages().isPresent() || errors.remappedRows().isPresent()) {
            samples.add(Metric.RETIREMENT_PENDING, held, errors.retirementPending());
            samples.add(Metric.REMAPPING_FAILED, held, errors.remappingFailed());
        }
    }
}
