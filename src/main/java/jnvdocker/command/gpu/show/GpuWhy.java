package jnvdocker.command.gpu.show;

import com.fasterxml.jackson.annotation.JsonUnwrapped;

import jnvdocker.command.caller.ShowCommand;
import jnvdocker.command.gpu.view.GpuJson;
import jnvdocker.command.gpu.view.GpuNotes;
import jnvdocker.command.gpu.view.GpuView;
import jnvdocker.command.gpu.view.Holding;
import jnvdocker.command.gpu.view.LeaseJson;
import jnvdocker.command.gpu.view.LeaseRow;
import jnvdocker.command.gpu.view.LiveClaim;
import jnvdocker.core.Leases;
import jnvdocker.core.WithheldGpus;
import jnvdocker.decision.RecentRefusals;
import jnvdocker.host.Gpu;
import jnvdocker.lease.Claim;
import jnvdocker.lease.ClaimedGpu;
import jnvdocker.lease.GpuStatus;
import jnvdocker.lease.HolderName;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Owner;
import jnvdocker.lease.RefusedStart;
import jnvdocker.lease.Share;
import jnvdocker.lease.Tenure;
import jnvdocker.lease.text.LeaseText;
import jnvdocker.lease.text.NodeText;
import jnvdocker.registry.PastLeases;
import jnvdocker.request.GpuResolver;
import jnvdocker.request.MemorySize;
import jnvdocker.screen.Json;
import jnvdocker.screen.Screen;
import jnvdocker.screen.Shown;
import jnvdocker.use.Observer;
import jnvdocker.words.Quote;
import jnvdocker.words.RefusedException;
import jnvdocker.words.Typo;

import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

import java.io.IOException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Predicate;

@Command(
        name = "why",
        description = {
            "Explain why a GPU is free or not, who had it before, and what to do.",
            "Of a container: explain its GPUs, or why it has none."
        })
public final class GpuWhy extends ShowCommand {
    private static final int PAST = 5;

    /** How many of the latest leases are searched for those of a container. */
    private static final int SEARCHED = 1000;

    private final GpuView view;
    private final Leases leases;
    private final Predicate<Owner> mayEnd;

    @Parameters(
            paramLabel = "GPU|CONTAINER",
            description = {
                "A GPU: its index, UUID or the beginning of that, or PCI address; also several, as"
                        + " 2,4-7.",
                "Or a container: its name, or its id or the beginning of that; or a program, task"
                        + " or pod, or a claim's id, as 'gpu leases' shows it."
            })
    private String id;

    /**
     * @param mayEnd whether the reader may end the uses of an owner
     */
    public GpuWhy(GpuView view, Predicate<Owner> mayEnd, Screen screen) {
        super(screen);
        this.mayEnd = mayEnd;
        this.view = view;
        this.leases = view.leases();
    }

    @Override
    protected Shown show() throws IOException, RefusedException {
        List<GpuStatus> all = view.status();
        return GpuResolver.ids(id).stream().allMatch(GpuResolver::isId)
                ? explain(find(all))
                : explainContainer(all);
    }

    /** What is known of a GPU. */
    private record Known(GpuStatus status, List<String> sentences, List<Lease> past) {}

    /** Explanations, one below the other; a document explains the first. */
    private record Explained(List<Known> gpus, GpuNotes notes, Optional<String> remark)
            implements Shown {
        @Override
        public Object document() {
            return GpuWhy.document(gpus.getFirst(), notes);
        }

        @Override
        public List<String> lines(Screen screen) {
            List<String> lines = new ArrayList<>();
            for (Known gpu : gpus) {
                lines.addAll(lines.isEmpty() ? List.of() : List.of(""));
                lines.addAll(gpu.sentences());
                lines.addAll(table(gpu.past(), screen));
            }
            return lines;
        }
    }

    private Shown explain(List<GpuStatus> gpus) throws IOException {
        if (isJson() && gpus.size() > 1) {
            throw usage("--json explains one GPU, and " + id + " names several");
        }
        GpuNotes notes = view.notes();
        List<Known> known = new ArrayList<>();
        for (GpuStatus status : gpus) {
            known.add(known(status, notes));
        }
        return new Explained(known, notes, leases.unwrittenEnd());
    }

    /** Returns the document of the GPU with that UUID; empty when there is none. */
    Optional<String> document(String uuid) throws IOException {
        GpuNotes notes = view.notes();
        for (GpuStatus status : view.status()) {
            if (status.gpu().uuid().equals(uuid)) {
                return Optional.of(Json.text(document(known(status, notes), notes)));
            }
        }
        return Optional.empty();
    }

    private Known known(GpuStatus status, GpuNotes notes) throws IOException {
        List<Lease> past = leases.history().pastOf(status.gpu().uuid(), PAST);
        return new Known(status, all(status, past, notes), past);
    }

    private List<String> all(GpuStatus status, List<Lease> past, GpuNotes notes)
            throws IOException {
        List<String> sentences = new ArrayList<>(sentences(status, past, notes));
        leases.claims().refusedStarts().stream()
                .filter(refused -> isOf(refused, status.gpu()))
                .forEach(refused -> sentences.add(Explanation.refused(refused)));
        status.lease().flatMap(leases.holders()::keptBy).ifPresent(sentences::add);
        return sentences;
    }

    /** Returns an empty line and a table of leases that have ended; nothing without one. */
    private static List<String> table(List<Lease> past, Screen screen) {
        if (past.isEmpty()) {
            return List.of();
        }
        List<String> lines = new ArrayList<>(List.of(""));
        List<LeaseRow> rows = past.stream().map(LeaseRow::past).toList();
        lines.addAll(LeaseRow.withEnds(Instant.now()).lines(rows, screen));
        return lines;
    }

    /** A container's GPUs have one explanation, which names all of them. */
    private Shown explainContainer(List<GpuStatus> all) throws IOException, RefusedException {
        List<Lease> live = leases.live();
        if (!HolderName.meant(id, live).isEmpty()) {
            Lease lease = LiveClaim.find(id, live);
            return explain(
                    all.stream()
                            .filter(it -> lease.claims(ClaimedGpu.of(it.gpu())))
                            .limit(1)
                            .map(it -> it.under(lease))
                            .toList());
        }
        Optional<Observer> observer = observer();
        if (!isJson() && observer.isPresent()) {
            return Shown.sentences(explain(observer.get()));
        }
        List<String> waiting = GpuQueue.explain(id, leases.waiting());
        if (!isJson() && !waiting.isEmpty()) {
            return Shown.sentences(waiting);
        }
        Optional<WithheldGpus.Withheld> withheld = leases.withheld().of(id);
        if (!isJson() && withheld.isPresent()) {
            return Shown.sentences(
                    List.of(
                            "Container %s runs without a GPU: %s"
                                    .formatted(
                                            Quote.shown(withheld.get().name()),
                                            withheld.get().reason().message())));
        }
        List<Lease> past = new ArrayList<>();
        new PastLeases(leases.history()::past, SEARCHED)
                .each(lease -> {
                    if (past.size() < PAST && HolderName.isOf(id, lease)) {
                        past.add(lease);
                    }
                });
        Optional<Claim> claim =
                leases.claims().withVolume().stream()
                        .filter(it -> HolderName.isOf(id, it))
                        .findFirst();
        Optional<Lease> last = past.stream().findFirst();
        Optional<Claim> known = claim.or(() -> last.map(Lease::claim));
        Optional<RecentRefusals.Refused> refused = lastRefusal(known, last);
        if (isJson() || past.isEmpty() && claim.isEmpty() && refused.isEmpty()) {
            List<String> meant =
                    Typo.of(id, live.stream().map(HolderName::shown).map(Quote::shown).toList());
            throw new RefusedException(
                    "no GPU, and no container that has %s, is called %s"
                            .formatted(isJson() ? "one now" : "had one", Quote.quoted(id)),
                    meant.isEmpty()
                            ? "'jnvdocker gpu leases --all' shows those that have had GPUs"
                            : "did you mean " + String.join(" or ", meant) + "?");
        }
        List<String> lines = new ArrayList<>();
        lines.add(
                known.isEmpty()
                        ? "Container %s has no GPU now.".formatted(Quote.shown(id))
                        : claim.isPresent() || known.get().origin().isMounted()
                                ? "Container %s has no GPU now: it does not run."
                                        .formatted(Quote.shown(known.get().displayName()))
                                : "%s has no GPU now: it has ended."
                                        .formatted(HolderName.shown(last.orElseThrow())));
        refused.ifPresent(it ->
                lines.add(
                        "It was refused at %s: %s"
                                .formatted(LeaseText.time(it.at()), Quote.whole(it.why()))));
        if (claim.isPresent()) {
            lines.addAll(start(claim.get(), all));
        }
        lines.addAll(table(past, screen()));
        return Shown.sentences(lines);
    }

    /** The observer of that name, or of an id that begins so. */
    private Optional<Observer> observer() {
        return leases.observers().stream()
                .filter(it -> HolderName.isName(id, it.name()) || HolderName.isId(id, it.id()))
                .findFirst();
    }

    private static List<String> explain(Observer observer) {
        return List.of(
                "Container %s observes all GPUs since %s and holds none, as the configuration allows"
                                .formatted(
                                        Quote.shown(observer.name()),
                                        LeaseText.time(observer.since()))
                        + " (observers).",
                observer.image().map(image -> "It is of image " + Quote.shown(image)).orElse("It")
                        + (observer.image().isPresent() ? ", and " : " ")
                        + "has no node by which CUDA computes. A process of it that has memory of a"
                        + " GPU is in unmanaged use of that GPU.");
    }

    /**
     * The refusal of the container or program since its last lease, if the reader may know of it.
     */
    private Optional<RecentRefusals.Refused> lastRefusal(
            Optional<Claim> known, Optional<Lease> past) {
        String name = Quote.shown(known.map(HolderName::typed).orElse(id));
        return leases.decisions().refusals().latest().stream()
                .filter(it ->
                        it.purpose().equals("container " + name)
                                || it.purpose().equals(Holding.purpose(name)))
                .filter(it -> past.filter(last -> last.since().isAfter(it.at())).isEmpty())
                .filter(it -> it.owner().isUnknown() || mayEnd.test(it.owner()))
                .findFirst();
    }

    /** A container that was given the nodes of its GPUs can be started with these alone. */
    private List<String> start(Claim claim, List<GpuStatus> all) throws IOException {
        List<String> lines = new ArrayList<>();
        lines.add(
                "When it is started, it gets "
                        + Holding.gpus(claim)
                        + ", or is refused if another has "
                        + (claim.gpus().size() == 1 ? "it:" : "one of them:"));
        GpuNotes notes = view.notes();
        for (GpuStatus status : all) {
            if (claim.gpus().stream().anyMatch(it -> it.uuid().equals(status.gpu().uuid()))) {
                lines.add(sentences(status, List.of(), notes).getFirst());
            }
        }
        lines.add("To get other GPUs: remove the container and run it again.");
        return lines;
    }

    private static boolean isOf(RefusedStart refused, Gpu gpu) {
        return refused.claim().gpus().stream().anyMatch(its -> its.uuid().equals(gpu.uuid()));
    }

    /** A GPU that the driver no longer shows is known by its UUID alone. */
    private List<GpuStatus> find(List<GpuStatus> all) throws RefusedException {
        boolean isUuid = GpuResolver.isUuid(id);
        List<Gpu> candidates =
                all.stream()
                        .filter(status -> isUuid || status.state() != GpuStatus.State.MISSING)
                        .map(GpuStatus::gpu)
                        .toList();
        List<Gpu> found = GpuResolver.resolve(List.of(id), candidates);
        return all.stream().filter(status -> found.contains(status.gpu())).toList();
    }

    private List<String> sentences(GpuStatus status, List<Lease> past, GpuNotes notes)
            throws IOException {
        Explanation explanation = new Explanation(status, mayEnd, Instant.now());
        if (status.lease().isEmpty()) {
            List<String> sentences = new ArrayList<>(explanation.free(past.stream().findFirst()));
            notes.ofDriver(status).ifPresent(sentences::add);
            return sentences;
        }
        Lease lease = status.lease().get();
        Tenure tenure = leases.tenures(List.of(lease)).get(lease.id());
        List<String> sentences =
                explanation.held(
                        lease, tenure, leases.holders().explain(lease), notes.sentence(status));
        notes.ofDriver(status).ifPresent(sentences::add);
        Gpu gpu = status.gpu();
        if (lease.isOf(gpu.uuid())) {
            NodeText.note(lease, gpu)
                    .ifPresent(note -> sentences.add("The node is another's: " + note + "."));
        }
        for (Lease other : leases.holdings().opening(gpu)) {
            if (other.id() != lease.id()) {
                NodeText.open(other, gpu).ifPresent(is -> sentences.add("It " + is + "."));
            }
        }
        List<Lease> beside = leases.holdings().beside(lease.claim());
        for (Lease other : beside) {
            sentences.add("It " + LeaseText.held(other) + ", too.");
        }
        if (!beside.isEmpty()) {
            sentences.add("It becomes free when all of them have ended.");
        }
        status.share().ifPresent(_ -> sentences.addAll(shared(status, notes)));
        return sentences;
    }

    /** Names the other holders of a shared GPU, and what a share is worth. */
    private static List<String> shared(GpuStatus status, GpuNotes notes) {
        List<Share> shares = status.each().stream().flatMap(each -> each.share().stream()).toList();
        long limit = Share.limit(shares.getFirst().memory());
        long left = Math.max(0, limit - Share.sum(shares));
        List<String> sentences = new ArrayList<>();
        for (GpuStatus other : status.others()) {
            sentences.add(
                    "It "
                            + LeaseText.held(other.lease().orElseThrow())
                            + ", too"
                            + notes.idle(other).map(note -> " (" + note + ").").orElse("."));
        }
        sentences.add(
                "It is shared, and "
                        + MemorySize.rounded(left)
                        + " of "
                        + MemorySize.rounded(limit)
                        + " are left. Shares are accounted, and not enforced: a program can use"
                        + " more than its share.");
        return sentences;
    }

    private record Document(
            @JsonUnwrapped GpuJson gpu, String explanation, List<LeaseJson> pastLeases) {}

    private static Document document(Known gpu, GpuNotes notes) {
        return new Document(
                GpuJson.of(notes.on(List.of(gpu.status())).getFirst(), notes),
                String.join(" ", gpu.sentences()),
                gpu.past().stream().map(LeaseJson::past).toList());
    }
}
