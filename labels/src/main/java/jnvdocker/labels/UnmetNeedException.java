package jnvdocker.labels;

import jnvdocker.words.RefusedException;

/**
 * The host does not meet a need of an image. The refusal states the need, and what would meet it.
 */
public final class UnmetNeedException extends RefusedException {
    private static final long serialVersionUID = 1;

    UnmetNeedException(String what, String remedy) {
        super(what, remedy);
    }
}
