package jnvdocker.command.gpu.show;

import jnvdocker.command.gpu.view.HolderJson;
import jnvdocker.command.gpu.view.Purpose;
import jnvdocker.command.gpu.view.WatchedCommand;
import jnvdocker.core.Leases;
import jnvdocker.lease.HolderName;
import jnvdocker.lease.Ticket;
import jnvdocker.lease.text.LeaseText;
import jnvdocker.request.GpuFilter;
import jnvdocker.request.GpuRequest;
import jnvdocker.request.MemorySize;
import jnvdocker.screen.Column;
import jnvdocker.screen.Listing;
import jnvdocker.screen.Screen;
import jnvdocker.words.Quote;
import jnvdocker.words.Span;

import picocli.CommandLine.Command;

import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;

@Command(
        name = "queue",
        description = {
            "List the clients that wait for GPUs, the next to be served first.",
            "PID is the waiting process. While a client cannot be served, no free GPU is kept for"
                    + " it; NOTE says why."
        })
public final class GpuQueue extends WatchedCommand {
    private final Leases leases;

    public GpuQueue(Leases leases, Screen screen) {
        super(screen);
        this.leases = leases;
    }

    @Override
    protected Listing<Placed> show() {
        return listing(leases.waiting(), leases.now());
    }

    /** A waiting client, and its place in the queue. */
    record Placed(int place, Leases.Waiter waiter) {
        private Ticket ticket() {
            return waiter.ticket();
        }

        private String note() {
            int priority = ticket().priority();
            return Stream.of(
                            Optional.of("priority " + priority).filter(_ -> priority != 0),
                            servedLater())
                    .flatMap(Optional::stream)
                    .collect(Collectors.joining("; "));
        }

        private Optional<String> servedLater() {
            return waiter.obstacle().map(why -> "others are served first: " + why);
        }

        private String sentence() {
            return "%s has waited for %s since %s, for %s, at place %d of the queue%s."
                    .formatted(
                            Quote.shown(ticket().owner().name()),
                            LeaseText.requested(ticket().requested().request()),
                            LeaseText.time(ticket().since()),
                            LeaseText.purpose(ticket().request()),
                            place,
                            servedLater().map(why -> "; " + why).orElse(""));
        }
    }

    static Listing<Placed> listing(List<Leases.Waiter> waiting, Instant now) {
        return new Listing<>(
                placed(waiting),
                List.of(
                        Column.of("PLACE", Placed::place),
                        Column.of("USER", it -> Quote.shown(it.ticket().owner().name())),
                        new Column<>(
                                "REQUEST",
                                Column.Cut.NEXT,
                                it ->
                                        Quote.shown(
                                                LeaseText.requested(
                                                        it.ticket().requested().request()))),
                        new Column<>(
                                "FOR",
                                Column.Cut.LAST,
                                it -> LeaseText.purpose(it.ticket().request())),
                        Column.of("SINCE", it -> LeaseText.time(it.ticket().since())),
                        Column.of("AGE", it -> Span.between(it.ticket().since(), now)),
                        Column.of("PID", it -> it.ticket().request().client().pid()),
                        Column.note("NOTE", Placed::note)),
                () -> entries(waiting),
                "nobody waits for GPUs");
    }

    /** A sentence for each waiting client that a word means, by its container, program or task. */
    static List<String> explain(String word, List<Leases.Waiter> waiting) {
        return placed(waiting).stream()
                .filter(it -> HolderName.isWaiting(word, it.ticket().request()))
                .map(Placed::sentence)
                .toList();
    }

    private static List<Placed> placed(List<Leases.Waiter> waiting) {
        return IntStream.range(0, waiting.size())
                .mapToObj(i -> new Placed(i + 1, waiting.get(i)))
                .toList();
    }

    /** A waiting client, as {@code --json} prints it. */
    record Entry(
            int place,
            String user,
            Long uid,
            String request,
            Integer count,
            Long memory,
            String model,
            Long shareBytes,
            List<String> gpus,
            String containerName,
            String image,
            String command,
            String task,
            String pod,
            String since,
            int pid,
            String obstacle,
            int priority) {

        private static Entry of(Placed placed) {
            Ticket ticket = placed.ticket();
            GpuRequest request = ticket.requested().request();
            GpuFilter filter =
                    request instanceof GpuRequest.Count(_, GpuFilter its) ? its : GpuFilter.ANY;
            Purpose purpose = Purpose.of(ticket.request().origin());
            return new Entry(
                    placed.place(),
                    ticket.owner().name(),
                    HolderJson.uid(ticket.owner()).orElse(null),
                    LeaseText.requested(request),
                    request instanceof GpuRequest.Count(int gpus, _) ? gpus : null,
                    filter.memory().map(MemorySize::bytes).orElse(null),
                    filter.model().orElse(null),
                    filter.share().map(MemorySize::bytes).orElse(null),
                    request instanceof GpuRequest.Devices(List<String> ids) ? ids : null,
                    ticket.request().container().orElse(null),
                    purpose.image().orElse(null),
                    purpose.command().orElse(null),
                    purpose.task().orElse(null),
                    purpose.pod().orElse(null),
                    ticket.since().toString(),
                    ticket.request().client().pid(),
                    placed.waiter().obstacle().orElse(null),
                    ticket.priority());
        }
    }

    static List<Entry> entries(List<Leases.Waiter> waiting) {
        return placed(waiting).stream().map(Entry::of).toList();
    }
}
