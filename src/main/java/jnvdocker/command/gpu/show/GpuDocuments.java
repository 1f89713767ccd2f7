package jnvdocker.command.gpu.show;

import jnvdocker.command.gpu.history.GpuHistory;
import jnvdocker.command.gpu.history.GpuRefusals;
import jnvdocker.command.gpu.history.HistoryReport;
import jnvdocker.command.gpu.view.GpuJson;
import jnvdocker.command.gpu.view.GpuNotes;
import jnvdocker.command.gpu.view.GpuView;
import jnvdocker.command.gpu.view.HolderJson;
import jnvdocker.command.gpu.view.LeaseJson;
import jnvdocker.command.gpu.view.ListedLeases;
import jnvdocker.core.Leases;
import jnvdocker.decision.RefusalReason;
import jnvdocker.host.Gpu;
import jnvdocker.lease.GpuStatus;
import jnvdocker.lease.GpuTime;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Owner;
import jnvdocker.registry.PastLeases;
import jnvdocker.screen.Json;
import jnvdocker.screen.Screen;
import jnvdocker.words.Refusal;

import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/**
 * The documents that {@code gpu ls}, {@code leases} and {@code queue} print, for other packages to
 * publish.
 */
public final class GpuDocuments {
    private static final int ROOT = 0;

    private final GpuView view;
    private final Leases leases;

    public GpuDocuments(GpuView view) {
        this.view = view;
        this.leases = view.leases();
    }

    /** Returns the document of {@code gpu ls}. */
    public String gpus() throws IOException {
        return Json.text(list());
    }

    /** Returns the document of {@code gpu ls} without what concerns the holders. */
    public String namelessGpus() throws IOException {
        return Json.text(list().stream().map(GpuJson::nameless).toList());
    }

    private List<GpuJson> list() throws IOException {
        GpuNotes notes = view.notes();
        return documents(notes.on(view.status()), notes);
    }

    /** Returns the document of {@code gpu leases}. */
    public String leases() throws IOException {
        return leases(0);
    }

    /** Returns the document of {@code gpu queue}. */
    public String queue() {
        return Json.text(GpuQueue.entries(leases.waiting()));
    }

    /** Returns the document of {@code gpu leases --all}. */
    public String leases(int ended) throws IOException {
        return Json.text(all(ended));
    }

    /**
     * Returns the document of {@code gpu refusals}.
     *
     * @param reader the uid of the one who reads it
     */
    public String refusals(int reader) {
        return Json.text(
                GpuRefusals.entries(
                        reader == ROOT
                                ? leases.decisions().refusals().latest()
                                : GpuRefusals.shown(leases, new Owner(reader, ""))));
    }

    /**
     * Returns the document of {@code gpu history}.
     *
     * @param by {@code user} or {@code group}, else an exception says so
     * @param kept for how long leases are kept; empty if for ever
     */
    public String history(Instant from, String by, Optional<Duration> kept) throws IOException {
        HistoryReport.By rows = HistoryReport.By.of(by);
        GpuTime time =
                GpuHistory.time(
                        leases,
                        rows,
                        leases.rules().limits().groups(),
                        from,
                        Optional.empty(),
                        Optional.empty());
        HistoryReport report =
                new HistoryReport(
                        time,
                        rows,
                        true,
                        Optional.empty(),
                        kept.map(span -> Instant.now().minus(span)).filter(from::isBefore),
                        List.of());
        return Json.text(report.json(Optional.empty(), Optional.empty()));
    }

    /**
     * Returns the document of {@code gpu why}.
     *
     * @param gpu its UUID
     * @param reader the uid of the one who reads it
     * @return empty when there is no such GPU
     */
    public Optional<String> why(String gpu, int reader) throws IOException {
        return new GpuWhy(view, owner -> reader == ROOT || owner.uid() == reader, Screen.NONE)
                .document(gpu);
    }

    /** All three at a moment, without line breaks. */
    public record Snapshot(List<GpuLine> gpus, String leases, String queue) {
        public Snapshot {
            gpus = List.copyOf(gpus);
        }

        /** Returns the document of the three. */
        public String text() {
            return "{\"gpus\":[%s],\"leases\":%s,\"queue\":%s}"
                    .formatted(
                            String.join(",", gpus.stream().map(GpuLine::document).toList()),
                            leases,
                            queue);
        }
    }

    /**
     * A GPU.
     *
     * @param name its UUID, or its address where it has none
     * @param standing its state, lease and holder; the rest of the document changes all the time
     * @param document its part of the document of {@code gpu ls}
     */
    public record GpuLine(String name, String standing, String document) {}

    private record Standing(String state, Long lease, HolderJson holder) {}

    /** Returns what they are now; a host without a driver has no GPUs. */
    public Snapshot snapshot() throws IOException {
        GpuNotes notes = view.notes();
        List<GpuStatus> gpus = notes.on(leases.status(view.gpusIfAny()));
        List<GpuJson> documents = documents(gpus, notes);
        List<GpuLine> lines = new ArrayList<>();
        for (int i = 0; i < documents.size(); i++) {
            lines.add(line(gpus.get(i).gpu(), documents.get(i)));
        }
        return new Snapshot(
                lines, Json.line(all(0)), Json.line(GpuQueue.entries(leases.waiting())));
    }

    private static GpuLine line(Gpu gpu, GpuJson json) {
        return new GpuLine(
                gpu.isIdentified() ? gpu.uuid() : gpu.pciAddress(),
                Json.line(new Standing(json.state(), json.lease(), json.holder())),
                Json.line(json));
    }

    private static List<GpuJson> documents(List<GpuStatus> gpus, GpuNotes notes) {
        return gpus.stream().map(gpu -> GpuJson.of(gpu, notes)).toList();
    }

    private LeaseJson.All all(int ended) throws IOException {
        PastLeases past = new PastLeases(leases.history()::past, ended);
        return new LeaseJson.All(
                ListedLeases.of(leases.live().reversed(), past, leases), leases.observers());
    }

    /** Returns the line of a lease that has just begun. */
    public static String begun(Lease lease) {
        return Json.line(
                LeaseJson.begun(
                        lease,
                        lease.isReservation() ? GpuStatus.State.RESERVED : GpuStatus.State.HELD));
    }

    /** Returns the line of a lease that has just ended. */
    public static String ended(Lease lease, Instant at, String evidence) {
        return Json.line(
                LeaseJson.past(
                        new Lease(
                                lease.id(),
                                lease.claim(),
                                lease.holder(),
                                lease.boot(),
                                lease.since(),
                                lease.time(),
                                lease.mounts(),
                                Optional.of(new Lease.End(at, evidence)))));
    }

    private record RefusalJson(
            String at,
            String user,
            Long uid,
            String purpose,
            String reason,
            String message,
            String remedy) {}

    /**
     * Returns the line of a refusal.
     *
     * @param purpose for people: {@code container train-7}
     */
    public static String refused(
            Instant at, Owner owner, String purpose, Refusal why, RefusalReason reason) {
        return Json.line(
                new RefusalJson(
                        at.toString(),
                        owner.name(),
                        HolderJson.uid(owner).orElse(null),
                        purpose,
                        reason.name().toLowerCase(Locale.ROOT),
                        why.what(),
                        why.remedy().orElse(null)));
    }
}
