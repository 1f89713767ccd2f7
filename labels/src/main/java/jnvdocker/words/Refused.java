package jnvdocker.words;

/** An exception of ours that has its message as a value, too. */
public interface Refused {
    /** Why, and what to do. */
    Refusal refusal();
}
