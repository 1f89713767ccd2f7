package jnvdocker.use;

import java.util.List;

/** The containers that observe GPUs at the moment. */
public interface Observers {
    /** Of a host on which nothing observes. */
    Observers NONE = List::of;

    /** Those that still run, the oldest first. */
    List<Observer> running();

    /** A container has another name now. */
    default void renamed(String container, String name) {}

    /** Whether a container is one of them. */
    default boolean observes(String container) {
        return running().stream().anyMatch(observer -> observer.id().equals(container));
    }
}
