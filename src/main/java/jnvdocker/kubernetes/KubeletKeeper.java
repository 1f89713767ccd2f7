package jnvdocker.kubernetes;

import jnvdocker.core.Leases;
import jnvdocker.holder.Periodic;
import jnvdocker.lease.GpuStatus;
import jnvdocker.posix.FileErrors;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.IOException;
import java.time.Duration;
import java.util.Map;

/**
 * Queries the kubelet for the pods with GPUs, and ends leases by its answer. A kubelet that does
 * not answer changes nothing: all pods keep theirs.
 */
final class KubeletKeeper implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(KubeletKeeper.class);

    private static final Duration WITH_PODS = Duration.ofSeconds(2);
    private static final Duration WITHOUT = Duration.ofSeconds(30);
    private static final Duration LIMIT = Duration.ofSeconds(5);

    private final PodReport report;
    private final KubeletView kubelet;
    private final Periodic thread =
            new Periodic("pods-keep", () -> hasPods() ? WITH_PODS : WITHOUT, this::check).later();

    private boolean pods;
    private boolean silent;

    /** Why the kubelet's file of claims was not read the last time; empty when it was. */
    private String claimsUnread = "";

    KubeletKeeper(PodReport report, KubeletView kubelet, GpuWatch watch) {
        this.report = report;
        this.kubelet = kubelet;
        watch.addListener(this::know);
    }

    /** Queries the kubelet from now on, but not at once. */
    KubeletKeeper start() {
        thread.start();
        return this;
    }

    private synchronized void know(Leases.Board board) {
        boolean has =
                board.gpus().stream()
                        .map(GpuStatus::gpu)
                        .flatMap(gpu -> board.choice().verdict(gpu).holder().stream())
                        .anyMatch(PodKind::isOfPod);
        if (has && !pods) {
            wake();
        }
        pods = has;
    }

    private synchronized boolean hasPods() {
        return pods;
    }

    /** Triggers a query of the kubelet at once. */
    void wake() {
        thread.wake();
    }

    /** Queries the kubelet once. */
    void check() {
        try {
            PodReport.Sight begun = report.observe();
            knowClaims();
            DeviceHolders holders = kubelet.query(LIMIT);
            report.update(begun, holders.listed(), holders.remembered());
            if (silent) {
                LOG.info("the kubelet answers");
            }
            silent = false;
        } catch (IOException e) {
            if (!silent && hasPods() && !Thread.currentThread().isInterrupted()) {
                silent = true;
                LOG.warn("pods keep their GPUs as they are: {}", FileErrors.describe(e));
            }
        }
    }

    /**
     * Learns which pods share a resource claim. That is all that is missing where this file cannot
     * be read: a claim ends no lease before it was given back, which reads the file, too.
     */
    private void knowClaims() throws IOException {
        Map<String, PreparedClaim> claims;
        try {
            claims = kubelet.claims();
        } catch (IOException e) {
            String why = FileErrors.describe(e);
            if (!why.equals(claimsUnread)) {
                LOG.warn("which pods share a resource claim is not known: {}", why);
            }
            claimsUnread = why;
            return;
        }
        claimsUnread = "";
        report.know(PreparedClaim.pods(claims));
    }

    @Override
    public void close() {
        thread.end(GpuWatch.PATIENCE);
    }
}
