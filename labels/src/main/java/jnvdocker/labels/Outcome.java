package jnvdocker.labels;

/** What became of a condition; UNKNOWN where the host's value of its property is not known. */
public enum Outcome {
    MET,
    UNMET,
    UNKNOWN
}
