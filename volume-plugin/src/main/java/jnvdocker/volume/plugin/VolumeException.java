package jnvdocker.volume.plugin;

import jnvdocker.posix.FileErrors;
import jnvdocker.words.Refusal;
import jnvdocker.words.Refused;

import java.io.IOException;

/** A verb that was refused or failed; docker shows the message to its user. */
public final class VolumeException extends Exception implements Refused {
    private static final long serialVersionUID = 1L;

    private final transient Refusal refusal;

    public VolumeException(String what, String remedy) {
        this(what, remedy, null);
    }

    public VolumeException(String what, String remedy, Throwable cause) {
        this(new Refusal(what, remedy), cause);
    }

    /** A verb that failed with what it needs. */
    public VolumeException(IOException cause) {
        this(FileErrors.refusal(cause), cause);
    }

    private VolumeException(Refusal refusal, Throwable cause) {
        super(refusal.message(), cause);
        this.refusal = refusal;
    }

    @Override
    public Refusal refusal() {
        return refusal;
    }
}
