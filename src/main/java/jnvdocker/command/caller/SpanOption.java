package jnvdocker.command.caller;

import jnvdocker.words.Span;

import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

import java.time.Duration;

/** Reads the duration of an option, {@code 1h30m}, within limits of its own. */
public abstract class SpanOption implements ITypeConverter<Duration> {
    private final Span.Limits limits;

    protected SpanOption(Span.Limits limits) {
        this.limits = limits;
    }

    @Override
    public Duration convert(String value) {
        try {
            return Span.parse(value, limits);
        } catch (IllegalArgumentException e) {
            throw new TypeConversionException(e.getMessage());
        }
    }
}
