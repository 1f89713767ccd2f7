package jnvdocker.command.gpu;

import jnvdocker.command.caller.Caller;
import jnvdocker.command.caller.HoldTime;
import jnvdocker.core.Leases;
import jnvdocker.host.Gpu;
import jnvdocker.lease.Booking;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Owner;
import jnvdocker.lease.text.LeaseText;
import jnvdocker.lease.text.Owners;
import jnvdocker.protocol.ClientRequest;
import jnvdocker.protocol.ExitCode;
import jnvdocker.request.GpuRequest;
import jnvdocker.screen.Column;
import jnvdocker.screen.Json;
import jnvdocker.screen.Screen;
import jnvdocker.screen.TextTable;
import jnvdocker.supply.Bookings;
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
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;
import java.util.stream.Stream;

@Command(
        name = "book",
        description = {
            "Book GPUs ahead, if the configuration allows it (bookings): from then on nobody else"
                    + " gets them, and what others are given before ends then.",
            "Without arguments, list the bookings."
        })
final class GpuBook implements Callable<Integer> {
    private final GpuView view;
    private final Leases leases;
    private final ClientRequest request;
    private final Screen screen;

    @Spec private CommandSpec spec;

    @Parameters(
            arity = "0..1",
            paramLabel = "GPUS",
            description =
                    "A number, device=<ids>, or count=N,memory=40G,model=A100, as --gpus takes it.")
    private String gpus;

    @Option(
            names = "--from",
            paramLabel = "TIME",
            description =
                    "The beginning: now, 18:00, \"fri 18:00\", \"tomorrow 9:00\" or"
                            + " \"2026-12-04 18:00\" (now).")
    private String from;

    @Option(names = "--for", paramLabel = "DURATION", description = "For how long (2h, 1d12h).")
    private String duration;

    @Option(
            names = "--for-user",
            paramLabel = "USER",
            description = "Book for another user, by name or uid (root only).")
    private String user;

    @Option(
            names = "--cancel",
            paramLabel = "NUMBER",
            description = "Cancel the booking with that number (its user and root only).")
    private Long cancelled;

    @Option(names = "--json", description = "Print JSON.")
    private boolean json;

    GpuBook(GpuView view, ClientRequest request, Screen screen) {
        this.view = view;
        this.leases = view.leases();
        this.request = request;
        this.screen = screen;
    }

    @Override
    public Integer call() throws IOException, RefusedException {
        if (gpus == null && Stream.of(from, duration, user).anyMatch(it -> it != null)) {
            throw new ParameterException(
                    spec.commandLine(), "say which GPUs to book, as in 'gpu book 2 --for 8h'");
        }
        if (gpus != null && (cancelled != null || json)) {
            throw new ParameterException(
                    spec.commandLine(), "--cancel and --json book no GPUs; run them alone");
        }
        if (gpus != null) {
            book();
        } else if (cancelled != null) {
            cancel();
        } else {
            list();
        }
        return ExitCode.OK.code();
    }

    private void book() throws IOException, RefusedException {
        if (duration == null) {
            throw new ParameterException(
                    spec.commandLine(), "a booking needs its duration, as in --for 8h");
        }
        Duration time = HoldTime.of("--for", Optional.of(duration)).orElseThrow();
        GpuRequest wanted = GpuRequest.parseOption(gpus);
        Instant now = Instant.now();
        Instant begin = from == null ? now : ComingMoment.parse(from, now, request.variable("TZ"));
        if (user != null) {
            Caller.refuseUnlessRoot(request, "book GPUs for another user");
        }
        // Users remain within their limits for their own bookings, even as root by sudo.
        Owner owner = user == null ? Caller.owner(request) : named(user);
        boolean byRoot = Caller.isRoot(request) && (user != null || owner.uid() == 0);
        Bookings.Made made = leases.book(wanted, owner, begin, time, byRoot);
        PrintWriter out = spec.commandLine().getOut();
        Booking booking = made.booking();
        out.println(
                "booking "
                        + booking.id()
                        + ": "
                        + gpusOf(booking)
                        + " for "
                        + Quote.shown(owner.name())
                        + " from "
                        + LeaseText.time(booking.from())
                        + " until "
                        + LeaseText.time(booking.until()));
        for (Lease late : made.late()) {
            out.println(
                    Holding.gpus(late)
                            + " "
                            + (late.claim().gpus().size() == 1 ? "is" : "are")
                            + " held by "
                            + LeaseText.holder(late)
                            + late.due()
                                    .map(due -> " until " + LeaseText.time(due))
                                    .orElse(", which may go on")
                            + "; contact "
                            + Holding.user(late));
        }
    }

    private static Owner named(String name) throws RefusedException {
        Owner owner =
                name.matches("[0-9]{1,9}") ? Owners.of(Integer.parseInt(name)) : Owners.named(name);
        if (owner.uid() < 0) {
            throw new RefusedException(
                    "this host knows no user " + Quote.quoted(name), "check the name with 'id'");
        }
        return owner;
    }

    private void cancel() throws IOException, RefusedException {
        Booking booking =
                leases.bookings().all().stream()
                        .filter(it -> it.id() == cancelled)
                        .findFirst()
                        .orElseThrow(() ->
                                new RefusedException(
                                        "there is no booking " + cancelled,
                                        "'jnvdocker gpu book' lists the bookings"));
        String owner = Quote.shown(booking.owner().name());
        if (!Caller.isRoot(request) && Caller.owner(request).uid() != booking.owner().uid()) {
            throw new RefusedException(
                    "booking " + booking.id() + " is " + owner + "'s",
                    "only " + owner + " and root may cancel it; contact one of them");
        }
        leases.bookings().cancel(booking);
        spec.commandLine()
                .getOut()
                .println("cancelled booking " + booking.id() + " of " + gpusOf(booking));
    }

    private void list() throws IOException {
        List<Booking> all = leases.bookings().all();
        PrintWriter out = spec.commandLine().getOut();
        if (json) {
            out.println(Json.text(all.stream().map(BookingJson::of).toList()));
            return;
        }
        if (all.isEmpty()) {
            out.println("no GPU is booked");
            return;
        }
        TextTable table =
                new TextTable(
                        Column.of("NUMBER"),
                        Column.of("USER"),
                        Column.of("GPUS"),
                        Column.of("FROM"),
                        Column.of("UNTIL"));
        List<Gpu> present = view.gpusIfAny();
        for (Booking booking : all) {
            table.row(
                    booking.id(),
                    Quote.shown(booking.owner().name()),
                    numbers(booking, present),
                    LeaseText.time(booking.from()),
                    LeaseText.time(booking.until()));
        }
        table.lines(screen).forEach(out::println);
    }

    private String gpusOf(Booking booking) throws IOException {
        return (booking.gpus().size() == 1 ? "GPU " : "GPUs ") + numbers(booking, view.gpusIfAny());
    }

    /** Their numbers now; the UUID of a GPU that the driver does not show. */
    private static String numbers(Booking booking, List<Gpu> present) {
        List<Gpu> shown =
                present.stream().filter(gpu -> booking.gpus().contains(gpu.uuid())).toList();
        Stream<String> missing =
                booking.gpus().stream()
                        .filter(uuid -> shown.stream().noneMatch(gpu -> gpu.uuid().equals(uuid)))
                        .sorted();
        return Stream.concat(shown.stream().sorted(Gpu.ORDER).map(Gpu::number), missing)
                .collect(Collectors.joining(","));
    }

    /** A booking, as {@code --json} prints it. */
    record BookingJson(
            long number, String user, Long uid, List<String> gpus, String from, String until) {
        static BookingJson of(Booking booking) {
            return new BookingJson(
                    booking.id(),
                    booking.owner().name(),
                    HolderJson.uid(booking.owner()).orElse(null),
                    booking.gpus().stream().sorted().toList(),
                    booking.from().toString(),
                    booking.until().toString());
        }
    }
}
