package jnvdocker.command.caller;

import jnvdocker.grant.Waiting;
import jnvdocker.protocol.ClientConnection;
import jnvdocker.protocol.ClientRequest;
import jnvdocker.words.Quote;
import jnvdocker.words.RefusedException;

import java.time.Duration;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Whether and for how long somebody waits: {@code --gpu-wait[=DURATION]}, {@code NV_GPU_WAIT}. */
public final class GpuWait {
    private static final Set<String> FOREVER = Set.of("true", "1", "yes", "forever");
    private static final Set<String> NOT = Set.of("", "false", "0", "no");

    /** As docker writes a duration, and with days. */
    private static final Pattern SPAN =
            Pattern.compile(
                    "(?=.)(?:([0-9]{1,4})d)?(?:([0-9]{1,5})h)?(?:([0-9]{1,6})m)?(?:([0-9]{1,8})s)?");

    private GpuWait() {}

    /**
     * @param option as typed; it wins over the variable
     */
    public static Optional<Waiting> of(
            Optional<String> option, ClientRequest request, ClientConnection client)
            throws RefusedException {
        String source = option.isPresent() ? "--gpu-wait" : "NV_GPU_WAIT";
        String value = option.orElse(request.variable("NV_GPU_WAIT")).strip();
        if (NOT.contains(value)) {
            return Optional.empty();
        }
        Optional<Duration> limit =
                FOREVER.contains(value) ? Optional.empty() : Optional.of(span(source, value));
        return Optional.of(of(limit, client));
    }

    /** The client has a place in the queue from then on, and is told of it. */
    public static Waiting of(Optional<Duration> limit, ClientConnection client) {
        return new Waiting(
                limit,
                text -> {
                    client.waits();
                    client.message(text);
                });
    }

    private static Duration span(String source, String value) throws RefusedException {
        Matcher parts = SPAN.matcher(value);
        if (!parts.matches()) {
            throw new RefusedException(
                    source + ": " + Quote.quoted(value) + " is no length of time",
                    "write one as in 90s, 30m or 1d12h");
        }
        return Duration.ofDays(part(parts, 1))
                .plusHours(part(parts, 2))
                .plusMinutes(part(parts, 3))
                .plusSeconds(part(parts, 4));
    }

    private static long part(Matcher parts, int group) {
        return parts.group(group) == null ? 0 : Long.parseLong(parts.group(group));
    }
}
