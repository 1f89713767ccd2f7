package jnvdocker.request;

import jnvdocker.words.Refusal;
import jnvdocker.words.RefusedException;

/**
 * A request for GPUs that cannot be understood. The message begins with the option or variable it
 * came from, quotes the part that is wrong and says which spelling would be right.
 */
public final class InvalidGpuRequestException extends RefusedException {
    private static final long serialVersionUID = 1L;

    public InvalidGpuRequestException(Refusal refusal) {
        super(refusal);
    }
}
