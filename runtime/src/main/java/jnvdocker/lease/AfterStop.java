package jnvdocker.lease;

import java.time.Instant;

/**
 * A container has stopped, and its owner may start it again: nobody else gets its GPU until then.
 *
 * @param claim the id of the container's claim
 * @param name the container, for people
 */
public record AfterStop(String claim, Owner owner, String name, Instant until) implements Kept {}
