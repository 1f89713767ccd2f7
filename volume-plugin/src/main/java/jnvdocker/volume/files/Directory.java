package jnvdocker.volume.files;

import com.fasterxml.jackson.annotation.JsonCreator;
import com.fasterxml.jackson.annotation.JsonValue;

/** The directories of a driver volume, as images name them in PATH and LD_LIBRARY_PATH. */
public enum Directory {
    BIN("bin"),
    /** 32-bit libraries. */
    LIB("lib"),
    /** 64-bit libraries. */
    LIB64("lib64");

    private final String text;

    Directory(String text) {
        this.text = text;
    }

    /**
     * @throws IllegalArgumentException quoting the text, when it is none of the three
     */
    @JsonCreator
    static Directory parse(String text) {
        for (Directory directory : values()) {
            if (directory.text.equals(text)) {
                return directory;
            }
        }
        throw new IllegalArgumentException("not a directory of a driver volume: '" + text + "'");
    }

    @Override
    @JsonValue
    public String toString() {
        return text;
    }
}
