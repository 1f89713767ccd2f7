package jnvdocker.lease;

import java.util.Optional;

/**
 * One limit of the configuration.
 *
 * @param value empty for {@code any}, which lifts the limits of later rules
 * @param key with its place in the configuration: {@code max_wait in /etc/jnvdocker/config.toml}
 */
public record Rule<T>(Subject subject, Optional<T> value, String key) {
    public Rule(Subject subject, T value, String key) {
        this(subject, Optional.of(value), key);
    }

    /** The key alone: {@code max_wait}. */
    public String name() {
        int end = key.lastIndexOf(" in ");
        return end < 0 ? key : key.substring(0, end);
    }

    /** The limit; there is one in every rule of an {@link Allowance}. */
    public T limit() {
        return value.orElseThrow();
    }
}
