package jnvdocker.volume.plugin;

/** A verb that was refused or failed; docker shows the message to its user. */
public final class VolumeException extends Exception {
    private static final long serialVersionUID = 1L;

    public VolumeException(String message) {
        super(message);
    }

    public VolumeException(String message, Throwable cause) {
        super(message, cause);
    }
}
