package jnvdocker.volume.files;

import java.io.IOException;

/** A file's bytes do not conform to its format. The message says what is wrong and where. */
public final class MalformedFileException extends IOException {
    private static final long serialVersionUID = 1L;

    public MalformedFileException(String message) {
        super(message);
    }
}
