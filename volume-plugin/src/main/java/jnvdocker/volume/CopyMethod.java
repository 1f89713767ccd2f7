package jnvdocker.volume;

import com.fasterxml.jackson.annotation.JsonCreator;
import com.fasterxml.jackson.annotation.JsonValue;

/** How a file of the host came into the volume. */
public enum CopyMethod {
    /** Another name of the same file. */
    LINK("link"),
    /** A file of its own that shares the blocks. */
    REFLINK("reflink"),
    COPY("copy");

    private final String text;

    CopyMethod(String text) {
        this.text = text;
    }

    /**
     * @throws IllegalArgumentException quoting the text, when it is none of the three
     */
    @JsonCreator
    static CopyMethod parse(String text) {
        for (CopyMethod cloned : values()) {
            if (cloned.text.equals(text)) {
                return cloned;
            }
        }
        throw new IllegalArgumentException("not a way to clone a file: '" + text + "'");
    }

    @Override
    @JsonValue
    public String toString() {
        return text;
    }
}
