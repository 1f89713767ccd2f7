package jnvdocker.command.hosts;

import jnvdocker.command.caller.SpanOption;
import jnvdocker.words.Span;

import java.time.Duration;

/** Reads how long a host is waited for: {@code 10s}. */
final class Patience extends SpanOption {
    Patience() {
        super(new Span.Limits(Duration.ofSeconds(1), Duration.ofMinutes(1)));
    }
}
