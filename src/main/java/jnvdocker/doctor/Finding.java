package jnvdocker.doctor;

import jnvdocker.posix.FileErrors;
import jnvdocker.words.Refusal;
import jnvdocker.words.Refused;

import java.io.IOException;
import java.util.Objects;

/**
 * One thing that a check has found.
 *
 * @param what was found; control characters of whatever it comes from are gone
 * @param remedy what to do; empty when there is nothing to do
 */
public record Finding(State state, String what, String remedy) {
    private static final int LONGEST = 1000;

    /** How bad it is. */
    public enum State {
        OK,
        /** Something does not work, or will not at the next start or boot. */
        WRONG,
        /** All works, and could do better. */
        HINT,
        /** It cannot be told. */
        UNKNOWN
    }

    public Finding {
        what = plain(what);
        remedy = plain(remedy);
    }

    static Finding ok(String what) {
        return new Finding(State.OK, what, "");
    }

    static Finding wrong(String what, String remedy) {
        return new Finding(State.WRONG, what, remedy);
    }

    static Finding wrong(Refusal why) {
        return new Finding(State.WRONG, why.what(), why.remedy().orElse(""));
    }

    /** What failed, and what to do as far as the exception says that. */
    static Finding wrong(Exception e) {
        return wrong(refusal(e));
    }

    static Finding hint(String what, String remedy) {
        return new Finding(State.HINT, what, remedy);
    }

    static Finding hint(Refusal why) {
        return new Finding(State.HINT, why.what(), why.remedy().orElse(""));
    }

    static Finding unknown(String why) {
        return new Finding(State.UNKNOWN, why, "");
    }

    /** What failed, without what to do. */
    static String failure(Exception e) {
        return plain(refusal(e).what());
    }

    /** What was found, and what to do. */
    public String line() {
        return remedy.isEmpty() ? what : new Refusal(what, remedy).message();
    }

    private static Refusal refusal(Exception e) {
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
