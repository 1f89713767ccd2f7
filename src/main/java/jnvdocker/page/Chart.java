package jnvdocker.page;

import jnvdocker.lease.LeaseBar;
import jnvdocker.lease.Owner;
import jnvdocker.lease.Trouble;
import jnvdocker.registry.Timeline;

import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The GPUs over time: a bar for each lease, and the times in which a GPU could be given to nobody.
 *
 * @param bars the latest first
 * @param complete whether these are all: there may be more than are drawn
 */
public record Chart(
        Instant from,
        Instant until,
        List<LeaseBar> bars,
        List<Trouble> troubles,
        boolean complete) {
    /** More of them no screen can show. */
    private static final int MOST = 20_000;

    /** Bytes that a chart takes, at most. */
    public static final int MEMORY = 8 << 20;

    public Chart {
        bars = List.copyOf(bars);
        troubles = List.copyOf(troubles);
    }

    /** Reads what has been since then. */
    public static Chart since(Instant from, Timeline timeline) throws IOException {
        Instant until = timeline.now();
        List<LeaseBar> bars = timeline.bars(from, MOST + 1);
        return new Chart(
                from,
                until,
                bars.stream().limit(MOST).filter(it -> it.since().isBefore(until)).toList(),
                timeline.troubles(from, MOST).stream()
                        .filter(it -> it.since().isBefore(until))
                        .toList(),
                bars.size() <= MOST);
    }

    /** Returns the users, those who have had GPUs for longest first. */
    List<Owner> users() {
        Map<Owner, Duration> times = new HashMap<>();
        bars.forEach(bar -> times.merge(bar.owner(), time(bar), Duration::plus));
        return times.entrySet().stream()
                .sorted(
                        Map.Entry.<Owner, Duration>comparingByValue()
                                .reversed()
                                .thenComparing(it -> it.getKey().name()))
                .map(Map.Entry::getKey)
                .toList();
    }

    private Duration time(LeaseBar bar) {
        Instant begin = bar.since().isBefore(from) ? from : bar.since();
        Instant end = bar.until().filter(until::isAfter).orElse(until);
        return end.isAfter(begin) ? Duration.between(begin, end) : Duration.ZERO;
    }
}
