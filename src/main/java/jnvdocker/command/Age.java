package jnvdocker.command;

import java.time.Duration;
import java.time.Instant;

/** How long something has lasted, as short as people take it in: {@code 5m}, {@code 1h15m}. */
final class Age {
    private Age() {}

    /** Between two moments; nothing when the clock was set back meanwhile. */
    static String between(Instant from, Instant to) {
        Duration age = Duration.between(from, to);
        if (age.isNegative()) {
            return "0s";
        }
        if (age.toDays() > 0) {
            return age.toDays() + "d";
        }
        if (age.toHours() > 0) {
            return age.toHours() + "h" + (age.toMinutesPart() > 0 ? age.toMinutesPart() + "m" : "");
        }
        return age.toMinutes() > 0 ? age.toMinutes() + "m" : age.toSeconds() + "s";
    }
}
