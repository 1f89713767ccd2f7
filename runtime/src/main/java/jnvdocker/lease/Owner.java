package jnvdocker.lease;

/**
 * The user a claim belongs to.
 *
 * @param name as the host knew it when the claim was made
 */
public record Owner(int uid, String name) {
    /** Of what is known again, and nothing tells whose it was. */
    public static final Owner UNKNOWN = new Owner(-1, "somebody");

    /** Somebody who is not known, by a name that is a guess: {@code alice?}. */
    public static Owner guessed(String name) {
        return new Owner(UNKNOWN.uid(), name + "?");
    }

    /** Whether nobody knows who that is, be there a guess. */
    public boolean isUnknown() {
        return uid == UNKNOWN.uid();
    }
}
