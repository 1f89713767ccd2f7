package jnvdocker.labels;

import jnvdocker.words.RefusedException;

/** The host cannot give what an image asks for. The refusal says what, and what would do. */
public final class UnmetNeedException extends RefusedException {
    private static final long serialVersionUID = 1;

    UnmetNeedException(String what, String remedy) {
        super(what, remedy);
    }
}
