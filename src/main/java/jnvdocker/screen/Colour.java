package jnvdocker.screen;

/** A colour of text on a terminal. It repeats the meaning of a word, and is never the only sign. */
public enum Colour {
    RED(31),
    GREEN(32),
    YELLOW(33),
    BLUE(34),
    MAGENTA(35),
    PLAIN(0);

    private static final String ESCAPE = "\u001b[";

    private final int code;

    Colour(int code) {
        this.code = code;
    }

    /** Returns the colour of the state of a GPU, a lease or a finding, by its word. */
    public static Colour ofState(String state) {
        return switch (state) {
            case "FREE", "ok" -> GREEN;
            case "RESERVED" -> BLUE;
            case "UNMANAGED", "hint", "unknown" -> YELLOW;
            case "CORDONED" -> MAGENTA;
            case "STUCK", "MISSING", "SICK", "wrong" -> RED;
            default -> PLAIN;
        };
    }

    String of(String text) {
        return this == PLAIN ? text : ESCAPE + code + "m" + text + ESCAPE + "0m";
    }
}
