package jnvdocker.command.caller;

import jnvdocker.words.InvalidValueException;
import jnvdocker.words.RefusedException;
import jnvdocker.words.Span;

import java.time.Duration;
import java.util.Optional;

/** How long a user wants GPUs: {@code --gpu-time 8h}, or a container's label. */
public final class HoldTime {
    private static final Span.Limits LIMITS = new Span.Limits(Duration.ofSeconds(1), Span.LONGEST);

    private HoldTime() {}

    /** Returns that of the option; empty without it. */
    public static Optional<Duration> of(Optional<String> option) throws RefusedException {
        return of("--gpu-time", option);
    }

    /**
     * Returns that of an option or label; empty without it.
     *
     * @param source its name, for a refusal
     */
    public static Optional<Duration> of(String source, Optional<String> value)
            throws RefusedException {
        try {
            return value.map(text -> Span.parse(text.strip(), LIMITS));
        } catch (InvalidValueException e) {
            throw new RefusedException(e.refusal().precededBy(source + ": "));
        }
    }
}
