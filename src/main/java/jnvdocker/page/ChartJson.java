package jnvdocker.page;

import com.fasterxml.jackson.annotation.JsonFormat;
import com.fasterxml.jackson.annotation.JsonPropertyOrder;

import jnvdocker.lease.Booking;
import jnvdocker.lease.LeaseBar;
import jnvdocker.lease.Owner;
import jnvdocker.lease.Trouble;
import jnvdocker.screen.Json;

import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * A chart as a document. There may be many bars, so each is a list, which names GPUs, users and
 * containers by their places in other lists, and times by seconds since the chart's beginning.
 */
public final class ChartJson {
    private ChartJson() {}

    private record Document(
            String from,
            String until,
            boolean complete,
            List<String> gpus,
            List<User> users,
            List<String> names,
            List<Bar> leases,
            List<TroubleBar> troubles,
            List<BookingBar> bookings) {}

    private record User(String user, Long uid) {}

    @JsonFormat(shape = JsonFormat.Shape.ARRAY)
    @JsonPropertyOrder({"lease", "gpu", "user", "name", "begin", "end", "idle"})
    private record Bar(
            long lease,
            int gpu,
            Integer user,
            Integer name,
            long begin,
            Long end,
            List<List<Long>> idle) {}

    @JsonFormat(shape = JsonFormat.Shape.ARRAY)
    @JsonPropertyOrder({"gpu", "state", "user", "begin", "end"})
    private record TroubleBar(int gpu, String state, String user, long begin, long end) {}

    @JsonFormat(shape = JsonFormat.Shape.ARRAY)
    @JsonPropertyOrder({"gpu", "user", "begin", "end"})
    private record BookingBar(int gpu, String user, long begin, long end) {}

    /** Each value's place in the order in which they came. */
    private static final class Places<T> {
        private final Map<T, Integer> places = new LinkedHashMap<>();

        int of(T value) {
            return places.computeIfAbsent(value, _ -> places.size());
        }

        List<T> all() {
            return new ArrayList<>(places.keySet());
        }
    }

    /**
     * Returns the document, without line breaks.
     *
     * @param bookings that are not over
     * @param named whether it names users and containers
     */
    public static String of(Chart chart, List<Booking> bookings, boolean named) {
        Places<String> gpus = new Places<>();
        Places<Owner> users = new Places<>();
        Places<String> names = new Places<>();
        chart.users().forEach(users::of);
        List<Bar> bars =
                chart.bars().stream()
                        .map(bar ->
                                new Bar(
                                        bar.lease(),
                                        gpus.of(bar.gpu()),
                                        named ? users.of(bar.owner()) : null,
                                        named ? names.of(bar.name()) : null,
                                        seconds(chart, bar.since()),
                                        bar.until().map(it -> seconds(chart, it)).orElse(null),
                                        idle(chart, bar)))
                        .toList();
        List<TroubleBar> troubles =
                chart.troubles().stream()
                        .map(it -> trouble(chart, it, gpus.of(it.gpu()), named))
                        .toList();
        List<BookingBar> booked =
                bookings.stream()
                        .flatMap(it ->
                                it.gpus().stream()
                                        .sorted()
                                        .map(gpu -> booking(chart, it, gpus.of(gpu), named)))
                        .toList();
        return Json.line(
                new Document(
                        chart.from().toString(),
                        chart.until().toString(),
                        chart.complete(),
                        gpus.all(),
                        named ? users.all().stream().map(ChartJson::user).toList() : List.of(),
                        names.all(),
                        bars,
                        troubles,
                        booked));
    }

    private static BookingBar booking(Chart chart, Booking booking, int gpu, boolean named) {
        return new BookingBar(
                gpu,
                named ? booking.owner().name() : null,
                seconds(chart, booking.from()),
                seconds(chart, booking.until()));
    }

    private static TroubleBar trouble(Chart chart, Trouble trouble, int gpu, boolean named) {
        return new TroubleBar(
                gpu,
                trouble.state().name().toLowerCase(Locale.ROOT),
                trouble.user().filter(_ -> named).orElse(null),
                seconds(chart, trouble.since()),
                seconds(chart, trouble.until()));
    }

    private static User user(Owner owner) {
        boolean known = owner.uid() != Owner.UNKNOWN.uid();
        return new User(owner.name(), known ? Integer.toUnsignedLong(owner.uid()) : null);
    }

    private static List<List<Long>> idle(Chart chart, LeaseBar bar) {
        return bar.idle().stream()
                .map(it -> List.of(seconds(chart, it.from()), seconds(chart, it.until())))
                .toList();
    }

    private static long seconds(Chart chart, Instant at) {
        return at.getEpochSecond() - chart.from().getEpochSecond();
    }
}
