package jnvdocker.doctor;

import jnvdocker.posix.FileErrors;

import java.io.IOException;

/**
 * One thing that a check has found.
 *
 * @param what was found; control characters of whatever it comes from are gone
 * @param remedy what to do; empty when there is nothing to do
 */
public record Finding(State state, String what, String remedy) {
    private static final int LONGEST = 1000;
    private static final String SEPARATOR = "; ";

    /** How bad it is. */
    public enum State {
        OK,
        /** Something does not work, or will not at the next start or boot. */
        WRONG,
        /** All works, and could do better. */
        HINT,
        /** It can't be told. */
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

    /** What a message of ours says, which ends with what to do. */
    static Finding wrong(Exception message) {
        String text = text(message);
        int remedy = text.lastIndexOf(SEPARATOR);
        return remedy < 0
                ? wrong(text, "")
                : wrong(text.substring(0, remedy), text.substring(remedy + SEPARATOR.length()));
    }

    static Finding hint(String what, String remedy) {
        return new Finding(State.HINT, what, remedy);
    }

    static Finding unknown(String why) {
        return new Finding(State.UNKNOWN, why, "");
    }

    /** What failed, without what to do. */
    static String failure(Exception e) {
        return wrong(e).what();
    }

    /** What was found, and what to do. */
    public String line() {
        return remedy.isEmpty() ? what : what + SEPARATOR + remedy;
    }

    private static String text(Exception e) {
        if (e instanceof IOException io) {
            return FileErrors.describe(io);
        }
        return e.getMessage() == null ? "no reason given" : e.getMessage();
    }

    private static String plain(String text) {
        String line = text.replaceAll("\\p{Cntrl}+", " ").strip();
        return line.length() <= LONGEST ? line : line.substring(0, LONGEST) + "…";
    }
}
