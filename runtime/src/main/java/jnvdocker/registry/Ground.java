package jnvdocker.registry;

/** The ground on which a lease ends. */
public enum Ground {
    /** Nothing of its holder is left, as this machine shows, or its holder has given it back. */
    GONE("stopped = 0"),
    /** Its engine says that its container has ended, which it cannot say of its own end. */
    SAID_BY_ENGINE("stopped = 1"),
    /** Root wants that: its holder may live, and counts again when it is next started. */
    FORCE("released = 1");

    /** To be set of the claim. */
    final String mark;

    Ground(String mark) {
        this.mark = mark;
    }
}
