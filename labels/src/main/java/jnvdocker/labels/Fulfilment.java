package jnvdocker.labels;

/** The result of a condition; UNKNOWN where the host's value of its property is not known. */
public enum Fulfilment {
    MET,
    UNMET,
    UNKNOWN
}
