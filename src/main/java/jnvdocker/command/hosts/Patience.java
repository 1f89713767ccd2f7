package jnvdocker.command.hosts;

import jnvdocker.words.Span;

import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

import java.time.Duration;

/** Reads how long a host is waited for: {@code 10s}. */
final class Patience implements ITypeConverter<Duration> {
    private static final Span.Limits LIMITS =
            new Span.Limits(Duration.ofSeconds(1), Duration.ofMinutes(1));

    @Override
    public Duration convert(String value) {
        try {
            return Span.parse(value, LIMITS);
        } catch (IllegalArgumentException e) {
            throw new TypeConversionException(e.getMessage());
        }
    }
}
