package jnvdocker.command.gpu;

import jnvdocker.core.Leases;
import jnvdocker.lease.Ticket;
import jnvdocker.lease.text.LeaseText;
import jnvdocker.protocol.ExitCode;
import jnvdocker.request.GpuFilter;
import jnvdocker.request.GpuRequest;
import jnvdocker.request.MemorySize;
import jnvdocker.screen.Column;
import jnvdocker.screen.Screen;
import jnvdocker.screen.TextTable;
import jnvdocker.words.Quote;
import jnvdocker.words.Span;

import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

import java.io.PrintWriter;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
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
final class GpuQueue implements Callable<Integer> {
    private final Leases leases;
    private final Screen screen;

    @Spec private CommandSpec spec;

    @Option(names = "--json", description = "Print JSON.")
    private boolean json;

    @Mixin private final Watch watch = new Watch();

    GpuQueue(Leases leases, Screen screen) {
        this.leases = leases;
        this.screen = screen;
    }

    @Override
    public Integer call() {
        List<Leases.Waiter> waiting = leases.waiting();
        PrintWriter out = spec.commandLine().getOut();
        if (json) {
            out.println(watch.json(entries(waiting)));
        } else {
            lines(waiting, Instant.now(), screen).forEach(out::println);
        }
        return ExitCode.OK.code();
    }

    static List<String> lines(List<Leases.Waiter> waiting, Instant now, Screen screen) {
        if (waiting.isEmpty()) {
            return List.of("nobody waits for GPUs");
        }
        TextTable table =
                new TextTable(
                        Column.of("PLACE"),
                        Column.of("USER"),
                        new Column("REQUEST", Column.Cut.NEXT),
                        new Column("FOR", Column.Cut.LAST),
                        Column.of("SINCE"),
                        Column.of("AGE"),
                        Column.of("PID"),
                        Column.note("NOTE"));
        int place = 0;
        for (Leases.Waiter waiter : waiting) {
            Ticket ticket = waiter.ticket();
            table.row(
                    ++place,
                    Quote.shown(ticket.owner().name()),
                    Quote.shown(LeaseText.requested(ticket.request())),
                    LeaseText.purpose(ticket),
                    LeaseText.time(ticket.since()),
                    Span.between(ticket.since(), now),
                    ticket.client().pid(),
                    note(waiter));
        }
        return table.lines(screen);
    }

    private static String note(Leases.Waiter waiter) {
        int priority = waiter.ticket().priority();
        return Stream.of(
                        Optional.of("priority " + priority).filter(_ -> priority != 0),
                        waiter.obstacle().map(why -> "others are served first: " + why))
                .flatMap(Optional::stream)
                .collect(Collectors.joining("; "));
    }

    /** A waiting client, as {@code --json} prints it. */
    record Entry(
            int place,
            String user,
            Long uid,
            String asksFor,
            Integer count,
            Long memory,
            String model,
            Long shareBytes,
            List<String> gpus,
            String image,
            String command,
            String task,
            String since,
            int pid,
            String obstacle,
            int priority) {

        private static Entry of(int place, Leases.Waiter waiter) {
            Ticket ticket = waiter.ticket();
            GpuRequest request = ticket.request();
            GpuFilter filter =
                    request instanceof GpuRequest.Count(_, GpuFilter its) ? its : GpuFilter.ANY;
            Purpose purpose = Purpose.of(ticket.origin());
            return new Entry(
                    place,
                    ticket.owner().name(),
                    HolderJson.uid(ticket.owner()).orElse(null),
                    LeaseText.requested(request),
                    request instanceof GpuRequest.Count(int gpus, _) ? gpus : null,
                    filter.memory().map(MemorySize::bytes).orElse(null),
                    filter.model().orElse(null),
                    filter.share().map(MemorySize::bytes).orElse(null),
                    request instanceof GpuRequest.Devices(List<String> ids) ? ids : null,
                    purpose.image().orElse(null),
                    purpose.command().orElse(null),
                    purpose.task().orElse(null),
                    ticket.since().toString(),
                    ticket.client().pid(),
                    waiter.obstacle().orElse(null),
                    ticket.priority());
        }
    }

    static List<Entry> entries(List<Leases.Waiter> waiting) {
        return IntStream.range(0, waiting.size())
                .mapToObj(i -> Entry.of(i + 1, waiting.get(i)))
                .toList();
    }
}
