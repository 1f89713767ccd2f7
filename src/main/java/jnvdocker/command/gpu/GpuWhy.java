package jnvdocker.command.gpu;

import com.fasterxml.jackson.annotation.JsonUnwrapped;

import jnvdocker.core.Leases;
import jnvdocker.core.WithheldGpus;
import jnvdocker.host.Gpu;
import jnvdocker.lease.Claim;
import jnvdocker.lease.ClaimedGpu;
import jnvdocker.lease.GpuStatus;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Owner;
import jnvdocker.lease.RefusedStart;
import jnvdocker.lease.Share;
import jnvdocker.lease.Tenure;
import jnvdocker.lease.text.LeaseText;
import jnvdocker.protocol.ExitCode;
import jnvdocker.request.GpuResolver;
import jnvdocker.request.MemorySize;
import jnvdocker.screen.Json;
import jnvdocker.screen.Screen;
import jnvdocker.words.Quote;
import jnvdocker.words.RefusedException;

import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

import java.io.IOException;
import java.io.PrintWriter;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.function.Predicate;

@Command(
        name = "why",
        description = {
            "Explain why a GPU is free or not, who had it before, and what to do.",
            "Of a container: explain its GPUs, or why it has none."
        })
final class GpuWhy implements Callable<Integer> {
    private static final int PAST = 5;

    /** How many of the latest leases are searched for those of a container. */
    private static final int SEARCHED = 1000;

    private final GpuView view;
    private final Leases leases;
    private final Predicate<Owner> mayEnd;
    private final Screen screen;

    @Spec private CommandSpec spec;

    @Parameters(
            paramLabel = "GPU|CONTAINER",
            description = {
                "A GPU: its index, UUID or the beginning of that, or PCI address; also several, as"
                        + " 2,4-7.",
                "Or a container: its name, or its id or the beginning of that."
            })
    private String id;

    @Option(names = "--json", description = "Print JSON, with full UUIDs and ids.")
    private boolean json;

    /**
     * @param mayEnd whether the reader may end the uses of an owner
     */
    GpuWhy(GpuView view, Predicate<Owner> mayEnd, Screen screen) {
        this.mayEnd = mayEnd;
        this.view = view;
        this.leases = view.leases();
        this.screen = screen;
    }

    @Override
    public Integer call() throws IOException, RefusedException {
        List<GpuStatus> all = view.status();
        if (GpuResolver.ids(id).stream().allMatch(GpuResolver::isId)) {
            explain(find(all));
        } else {
            explainContainer(all);
        }
        return ExitCode.OK.code();
    }

    private void explain(List<GpuStatus> gpus) throws IOException {
        PrintWriter out = spec.commandLine().getOut();
        if (json && gpus.size() > 1) {
            throw new ParameterException(
                    spec.commandLine(), "--json explains one GPU, and " + id + " names several");
        }
        GpuNotes notes = view.notes();
        for (int i = 0; i < gpus.size(); i++) {
            if (i > 0) {
                out.println();
            }
            explain(gpus.get(i), notes, out);
        }
    }

    /** Returns the document of the GPU with that UUID; empty when there is none. */
    Optional<String> document(String uuid) throws IOException {
        GpuNotes notes = view.notes();
        Optional<GpuStatus> status =
                view.status().stream().filter(it -> it.gpu().uuid().equals(uuid)).findFirst();
        if (status.isEmpty()) {
            return Optional.empty();
        }
        List<Lease> past = leases.pastOf(status.get().gpu(), PAST);
        List<String> sentences = all(status.get(), past, notes);
        return Optional.of(Json.text(document(status.get(), sentences, past, notes)));
    }

    private List<String> all(GpuStatus status, List<Lease> past, GpuNotes notes)
            throws IOException {
        List<String> sentences = new ArrayList<>(sentences(status, past, notes));
        leases.refusedStarts().stream()
                .filter(refused -> isOf(refused, status.gpu()))
                .forEach(refused -> sentences.add(Explanation.refused(refused)));
        status.lease().flatMap(AbsentAgent::sentence).ifPresent(sentences::add);
        return sentences;
    }

    private void explain(GpuStatus status, GpuNotes notes, PrintWriter out) throws IOException {
        List<Lease> past = leases.pastOf(status.gpu(), PAST);
        List<String> sentences = all(status, past, notes);
        if (json) {
            out.println(Json.text(document(status, sentences, past, notes)));
            leases.unwrittenEnd().ifPresent(spec.commandLine().getErr()::println);
            return;
        }
        sentences.forEach(out::println);
        leases.unwrittenEnd().ifPresent(out::println);
        print(past, out);
    }

    private void print(List<Lease> past, PrintWriter out) throws IOException {
        if (past.isEmpty()) {
            return;
        }
        out.println();
        LeaseTable.withEnds(Instant.now())
                .print(
                        visitor -> {
                            for (Lease lease : past) {
                                visitor.visit(lease);
                            }
                        },
                        screen,
                        out::println);
    }

    /** A container's GPUs have one explanation, which names all of them. */
    private void explainContainer(List<GpuStatus> all) throws IOException, RefusedException {
        List<Lease> live = leases.live();
        if (!LiveClaim.meant(id, live).isEmpty()) {
            Lease lease = LiveClaim.find(id, live);
            explain(
                    all.stream()
                            .filter(it -> lease.excludes(ClaimedGpu.of(it.gpu())))
                            .limit(1)
                            .map(it -> it.under(lease))
                            .toList());
            return;
        }
        Optional<WithheldGpus.Withheld> withheld = leases.withheld().of(id);
        if (!json && withheld.isPresent()) {
            spec.commandLine()
                    .getOut()
                    .println(
                            "Container "
                                    + Quote.shown(withheld.get().name())
                                    + " runs without a GPU: "
                                    + withheld.get().reason().message());
            return;
        }
        List<Lease> past = new ArrayList<>();
        leases.past(SEARCHED)
                .each(lease -> {
                    if (past.size() < PAST && LiveClaim.isItsContainer(id, lease.claim())) {
                        past.add(lease);
                    }
                });
        Optional<Claim> claim =
                leases.claimsWithVolume().stream()
                        .filter(it -> LiveClaim.isItsContainer(id, it))
                        .findFirst();
        if (json || past.isEmpty() && claim.isEmpty()) {
            throw new RefusedException(
                    "no GPU, and no container that has "
                            + (json ? "one now" : "had one")
                            + ", is called "
                            + Quote.quoted(id),
                    "a container gets GPUs from 'jnvdocker run' or 'jnvdocker gpu remake'"
                            + " ('jnvdocker gpu ls' shows the GPUs)");
        }
        PrintWriter out = spec.commandLine().getOut();
        String name = claim.map(Claim::displayName).orElse(id);
        out.println("Container " + Quote.shown(name) + " has no GPU now: it does not run.");
        if (claim.isPresent()) {
            explainStart(claim.get(), all, out);
        }
        print(past, out);
    }

    /** A container that was given the nodes of its GPUs can be started with these alone. */
    private void explainStart(Claim claim, List<GpuStatus> all, PrintWriter out)
            throws IOException {
        out.println(
                "When it is started, it gets "
                        + Holding.gpus(claim)
                        + ", or is refused if another has "
                        + (claim.gpus().size() == 1 ? "it:" : "one of them:"));
        GpuNotes notes = view.notes();
        for (GpuStatus status : all) {
            if (claim.gpus().stream().anyMatch(it -> it.uuid().equals(status.gpu().uuid()))) {
                out.println(sentences(status, List.of(), notes).getFirst());
            }
        }
        out.println(
                "To make it again on other GPUs: jnvdocker gpu remake "
                        + Quote.shown(claim.displayName()));
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
            return explanation.free(past.stream().findFirst());
        }
        Lease lease = status.lease().get();
        Tenure tenure = leases.tenures(List.of(lease)).get(lease.id());
        List<String> sentences =
                explanation.held(lease, tenure, leases.explain(lease), notes.sentence(status));
        for (Lease other : leases.beside(lease)) {
            sentences.add("It " + LeaseText.held(other) + ", too.");
        }
        status.share().ifPresent(_ -> sentences.addAll(shared(status)));
        return sentences;
    }

    /** Names the other holders of a shared GPU, and what a share is worth. */
    private static List<String> shared(GpuStatus status) {
        List<Share> shares = status.each().stream().flatMap(each -> each.share().stream()).toList();
        long limit = Share.limit(shares.getFirst().memory());
        long left = Math.max(0, limit - Share.sum(shares));
        List<String> sentences = new ArrayList<>();
        for (GpuStatus other : status.others()) {
            sentences.add("It " + LeaseText.held(other.lease().orElseThrow()) + ", too.");
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

    private Document document(
            GpuStatus status, List<String> sentences, List<Lease> past, GpuNotes notes) {
        return new Document(
                GpuJson.of(notes.on(List.of(status)).getFirst(), notes),
                String.join(" ", sentences),
                past.stream().map(LeaseJson::past).toList());
    }
}
