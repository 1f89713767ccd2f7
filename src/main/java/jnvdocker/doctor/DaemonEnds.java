package jnvdocker.doctor;

import jnvdocker.lease.text.LeaseText;
import jnvdocker.words.Quote;

import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;

/** The ends of the daemon that nobody wanted, as its unit writes a line for each. */
final class DaemonEnds {
    private static final Duration WINDOW = Duration.ofDays(1);

    private DaemonEnds() {}

    /**
     * {@code the daemon has ended by itself 3 times in 24 hours, the last time at 12:01: signal
     * KILL, exit code 1 (2 times)}; empty if it has not.
     *
     * @param lines the time in seconds since 1970, systemd's result, and the code or signal
     */
    static Optional<String> describe(String lines, Instant now) {
        List<Instant> times = new ArrayList<>();
        Map<String, Integer> counts = new LinkedHashMap<>();
        for (String line : lines.split("\n")) {
            String[] words = line.split(" ");
            if (!words[0].matches("\\d{1,11}") || words.length < 2) {
                continue;
            }
            Instant time = Instant.ofEpochSecond(Long.parseLong(words[0]));
            if (time.isAfter(now.minus(WINDOW))) {
                times.add(time);
                counts.merge(reason(words), 1, Integer::sum);
            }
        }
        if (times.isEmpty()) {
            return Optional.empty();
        }
        return Optional.of(
                "the daemon has ended by itself "
                        + times(times.size())
                        + " in 24 hours, the last time at "
                        + LeaseText.time(times.getLast())
                        + ": "
                        + counts.entrySet().stream()
                                .map(count ->
                                        count.getKey()
                                                + (count.getValue() == 1
                                                        ? ""
                                                        : " (" + times(count.getValue()) + ")"))
                                .collect(Collectors.joining(", ")));
    }

    private static String times(int number) {
        return number == 1 ? "once" : number + " times";
    }

    /** See systemd.exec(5), SERVICE_RESULT and EXIT_STATUS. */
    private static String reason(String[] words) {
        String status = Quote.shown(words.length > 2 ? words[2] : "?");
        return switch (words[1]) {
            case "exit-code" -> "exit code " + status;
            case "signal" -> "signal " + status;
            case "core-dump" -> "signal " + status + " with a core dump";
            case "oom-kill" -> "killed for want of memory";
            case "timeout" -> "not ready, or not ended, in time";
            default -> Quote.shown(words[1]);
        };
    }
}
