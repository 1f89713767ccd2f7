package jnvdocker.command.gpu.change;

import jnvdocker.command.caller.Caller;
import jnvdocker.command.caller.HoldTime;
import jnvdocker.command.caller.ShowCommand;
import jnvdocker.command.gpu.view.GpuView;
import jnvdocker.command.gpu.view.HolderJson;
import jnvdocker.command.gpu.view.Holding;
import jnvdocker.command.gpu.view.Moment;
import jnvdocker.command.gpu.view.UserOption;
import jnvdocker.core.Leases;
import jnvdocker.host.Gpu;
import jnvdocker.lease.Booking;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Owner;
import jnvdocker.lease.text.LeaseText;
import jnvdocker.protocol.ClientRequest;
import jnvdocker.request.GpuRequest;
import jnvdocker.screen.Column;
import jnvdocker.screen.Listing;
import jnvdocker.screen.Screen;
import jnvdocker.screen.Shown;
import jnvdocker.supply.Bookings;
import jnvdocker.words.InvalidValueException;
import jnvdocker.words.Quote;
import jnvdocker.words.RefusedException;

import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.BooleanSupplier;
import java.util.stream.Collectors;
import java.util.stream.Stream;

@Command(
        name = "book",
        description = {
            "Book GPUs ahead, if the configuration allows it (bookings): from then on nobody else"
                    + " gets them. Others who are given them before then are to give them back by"
                    + " then: their leases are overdue, and their holders are stopped if the"
                    + " configuration says so (stop_overdue). A lease that has begun before the"
                    + " booking was made goes on.",
            "Without arguments, list the bookings."
        })
public final class GpuBook extends ShowCommand {
    private final GpuView view;
    private final Leases leases;
    private final BooleanSupplier stopOverdue;
    private final ClientRequest request;

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
                    "The beginning: now, 18:00, \"fri 18:00\", \"tomorrow 9:00\","
                            + " \"2026-12-04 18:00\", or how long from now, 2h (now).")
    private String from;

    @Option(
            names = "--for",
            paramLabel = "DURATION",
            description =
                    "For how long (2h, 1d12h): max_booking and your max_hold at most, except for"
                            + " root.")
    private String duration;

    @Option(
            names = "--until",
            paramLabel = "TIME",
            description = "The end, written like --from, in place of --for.")
    private String until;

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

    /**
     * @param stopOverdue whether the holder of an overdue lease is stopped
     */
    public GpuBook(
            GpuView view, BooleanSupplier stopOverdue, ClientRequest request, Screen screen) {
        super(screen);
        this.view = view;
        this.stopOverdue = stopOverdue;
        this.leases = view.leases();
        this.request = request;
    }

    @Override
    protected Shown show() throws IOException, RefusedException {
        if (gpus == null && Stream.of(from, duration, until, user).anyMatch(it -> it != null)) {
            throw usage("say which GPUs to book, as in 'gpu book 2 --for 8h'");
        }
        if ((gpus != null || cancelled != null) && isJson() || gpus != null && cancelled != null) {
            throw usage("--cancel and --json book no GPUs; run them alone");
        }
        if (gpus != null) {
            return Shown.sentences(book());
        }
        return cancelled == null ? bookings() : Shown.sentences(cancel());
    }

    private List<String> book() throws IOException, RefusedException {
        if ((duration == null) == (until == null)) {
            throw usage(
                    "a booking needs its duration, as in --for 8h, or its end, as in --until"
                            + " 18:00");
        }
        GpuRequest wanted = GpuRequest.parseOption(gpus);
        Instant now = leases.now();
        Instant begin = from == null ? now : moment("--from", from, now);
        Duration time =
                until == null
                        ? HoldTime.of("--for", Optional.of(duration)).orElseThrow()
                        : Duration.between(begin, moment("--until", until, begin));
        if (!time.isPositive()) {
            throw usage("the booking would end as it begins: write a later --until");
        }
        if (user != null) {
            Caller.refuseUnlessRoot(request, "book GPUs for another user");
        }
        // Users remain within their limits for their own bookings, even as root by sudo.
        Owner owner = user == null ? Caller.owner(request) : UserOption.owner(user);
        boolean byRoot = Caller.isRoot(request) && (user != null || owner.uid() == 0);
        Bookings.Made made = leases.book(wanted, owner, begin, time, byRoot);
        Booking booking = made.booking();
        List<String> lines = new ArrayList<>();
        lines.add(
                "booking %d: %s for %s from %s until %s"
                        .formatted(
                                booking.id(),
                                gpusOf(booking),
                                Quote.shown(owner.name()),
                                LeaseText.time(booking.from()),
                                LeaseText.time(booking.until())));
        made.late().forEach(late -> lines.add(late(late)));
        if (begin.isAfter(now) && !stopOverdue.getAsBoolean()) {
            lines.add(
                    "others who get "
                            + (booking.gpus().size() == 1 ? "it" : "them")
                            + " before then are overdue from then on, and not stopped"
                            + " (stop_overdue)");
        }
        return lines;
    }

    private Instant moment(String option, String text, Instant earliest) {
        try {
            return Moment.coming(text, earliest, request.timeZone());
        } catch (InvalidValueException e) {
            throw usage(option + ": " + e.getMessage());
        }
    }

    private static String late(Lease lease) {
        return "%s %s held by %s%s; contact %s"
                .formatted(
                        Holding.gpus(lease),
                        lease.claim().gpus().size() == 1 ? "is" : "are",
                        LeaseText.holder(lease),
                        lease.due()
                                .map(due -> " until " + LeaseText.time(due))
                                .orElse(" with no end time"),
                        Holding.user(lease));
    }

    private List<String> cancel() throws IOException, RefusedException {
        Booking booking =
                leases.bookings().all().stream()
                        .filter(it -> it.id() == cancelled)
                        .findFirst()
                        .orElseThrow(() ->
                                new RefusedException(
                                        "there is no booking " + cancelled,
                                        "'jnvdocker gpu book' lists the bookings"));
        String owner = Quote.shown(booking.owner().name());
        Caller.refuseUnlessOwner(
                request,
                booking.owner(),
                "booking " + booking.id() + " is " + owner + "'s",
                "cancel it");
        leases.bookings().cancel(booking);
        return List.of("cancelled booking " + booking.id() + " of " + gpusOf(booking));
    }

    private Listing<Booking> bookings() throws IOException {
        List<Booking> all = leases.bookings().all();
        List<Gpu> present = view.gpusIfAny();
        return new Listing<>(
                all,
                List.of(
                        Column.of("NUMBER", Booking::id),
                        Column.of("USER", it -> Quote.shown(it.owner().name())),
                        Column.of("GPUS", it -> numbers(it, present)),
                        Column.of("FROM", it -> LeaseText.time(it.from())),
                        Column.of("UNTIL", it -> LeaseText.time(it.until()))),
                () -> all.stream().map(BookingJson::of).toList(),
                "no GPU is booked");
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
