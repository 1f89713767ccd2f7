package jnvdocker.lease;

/**
 * The user a claim belongs to.
 *
 * @param name as the host knew it when the claim was made
 */
public record Owner(int uid, String name) {
    /** The owner of a claim that was recovered without its owner. */
    public static final Owner UNKNOWN = new Owner(-1, "somebody");

    /** An unknown owner, under a name that is a guess: {@code alice?}. */
    public static Owner guessed(String name) {
        return new Owner(UNKNOWN.uid(), name + "?");
    }

    /** Whether the user is unknown, guess or not. */
    public boolean isUnknown() {
        return uid == UNKNOWN.uid();
    }
}
