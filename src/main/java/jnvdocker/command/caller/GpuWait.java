package jnvdocker.command.caller;

import jnvdocker.grant.Waiting;
import jnvdocker.protocol.ClientConnection;
import jnvdocker.protocol.ClientRequest;
import jnvdocker.words.InvalidValueException;
import jnvdocker.words.RefusedException;
import jnvdocker.words.Span;

import java.time.Duration;
import java.util.Optional;
import java.util.Set;

/** Whether and for how long a user waits: {@code --gpu-wait[=DURATION]}, {@code NV_GPU_WAIT}. */
public final class GpuWait {
    private static final Set<String> FOREVER = Set.of("true", "1", "yes", "forever");
    private static final Set<String> NOT = Set.of("", "false", "0", "no");

    private static final Span.Limits LIMITS = new Span.Limits(Duration.ZERO, Span.LONGEST);

    private GpuWait() {}

    /**
     * @param option as typed; takes precedence over the variable
     */
    public static Optional<Waiting> of(
            Optional<String> option, ClientRequest request, ClientConnection client)
            throws RefusedException {
        String source = option.isPresent() ? "--gpu-wait" : "NV_GPU_WAIT";
        String text = option.orElse(request.variable("NV_GPU_WAIT"));
        return of(source, text, Caller.isRoot(request), client);
    }

    /** Returns the wait that a container's label requests; empty when the label requests none. */
    public static Optional<Waiting> ofLabel(String label, String text, ClientConnection client)
            throws RefusedException {
        return of("the label " + label, text, false, client);
    }

    private static Optional<Waiting> of(
            String source, String text, boolean byRoot, ClientConnection client)
            throws RefusedException {
        String value = text.strip();
        if (NOT.contains(value)) {
            return Optional.empty();
        }
        Optional<Duration> limit =
                FOREVER.contains(value) ? Optional.empty() : Optional.of(span(source, value));
        return Optional.of(new Waiting(limit, listener(client), source, byRoot));
    }

    /**
     * Refuses {@code --gpu-wait 5m IMAGE}, in which docker would take {@code 5m} for the image.
     *
     * @param word the word after the option
     * @param what the word's meaning: {@code image} or {@code program}
     */
    public static void refuseDuration(String word, String what) throws RefusedException {
        try {
            Span.parse(word, LIMITS);
        } catch (InvalidValueException _) {
            return;
        }
        throw new RefusedException(
                "'" + word + "' after --gpu-wait would be the " + what,
                "type --gpu-wait=" + word + " to wait that long");
    }

    /**
     * Returns a wait that notifies the client, with each report, that it has a place in the queue.
     */
    public static Waiting of(Optional<Duration> limit, ClientConnection client) {
        return new Waiting(limit, listener(client));
    }

    private static Waiting.Listener listener(ClientConnection client) {
        return text -> {
            client.waits();
            client.message(text);
        };
    }

    private static Duration span(String source, String value) throws RefusedException {
        try {
            return Span.parse(value, LIMITS);
        } catch (InvalidValueException e) {
            throw new RefusedException(e.refusal().precededBy(source + ": "));
        }
    }
}
