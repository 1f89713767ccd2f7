package jnvdocker.screen;

import jnvdocker.protocol.ExitCode;

import java.io.IOException;
import java.util.List;
import java.util.Optional;

/** The output of a command: lines for people, a document for programs. */
public interface Shown {
    /** Returns a record, or a list of records, whose components are the keys. */
    Object document() throws IOException;

    List<String> lines(Screen screen) throws IOException;

    /** Returns sentences, which programs get as a list. */
    static Shown sentences(List<String> all) {
        return new Shown() {
            @Override
            public Object document() {
                return all;
            }

            @Override
            public List<String> lines(Screen screen) {
                return all;
            }
        };
    }

    /** Returns a remark, below the lines or beside the document, on standard error. */
    default Optional<String> remark() {
        return Optional.empty();
    }

    default ExitCode exitCode() {
        return ExitCode.OK;
    }
}
