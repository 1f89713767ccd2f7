package jnvdocker.lease;

import java.util.Optional;

/**
 * One limit of the configuration.
 *
 * @param value empty for {@code any}, which lifts the limits of later rules
 * @param key {@code limits.@students.max_wait}
 * @param place of the key: {@code /etc/jnvdocker/config.toml:12}
 */
public record Rule<T>(Subject subject, Optional<T> value, String key, String place) {
    public Rule(Subject subject, T value, String key, String place) {
        this(subject, Optional.of(value), key, place);
    }

    /** The limit; there is one in every rule of an {@link Allowance}. */
    public T limit() {
        return value.orElseThrow();
    }
}
