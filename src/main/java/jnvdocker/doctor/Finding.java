package jnvdocker.doctor;

import jnvdocker.posix.FileErrors;
import jnvdocker.words.Refusal;
import jnvdocker.words.Refused;

import java.io.IOException;
import java.util.Objects;

/**
 * A finding of a check.
 *
 * @param what the finding; control characters from its source are removed
 * @param remedy what to do; empty if there is nothing to do
 */
public record Finding(State state, String what, String remedy) {
    private static final int LONGEST = 1000;

    /** How bad it is. */
    public enum State {
        OK,
        /** Something does not work, or will stop working at the next start or boot. */
        WRONG,
        /** All works, and could work better. */
        HINT,
        /** The state is unknown. */
        UNKNOWN
    }

    public Finding {
        what = plain(what);
        remedy = plain(remedy);
    }

    /** Returns the failure, without what to do. */
    public static String failure(Exception e) {
        return plain(refusal(e).what());
    }

    /** Returns the finding, and what to do. */
    public String line() {
        return remedy.isEmpty() ? what : new Refusal(what, remedy).message();
    }

    /** Returns the failure, and what to do if the exception says that. */
    static Refusal refusal(Exception e) {
        return switch (e) {
            case Refused ours -> ours.refusal();
            case IOException failed -> FileErrors.refusal(failed);
            default -> Refusal.of(Objects.requireNonNullElse(e.getMessage(), "no reason given"));
        };
    }

    private static String plain(String text) {
        String line = text.replaceAll("\\p{Cntrl}+", " ").strip();
        return line.length() <= LONGEST ? line : line.substring(0, LONGEST) + "…";
    }
}
