package jnvdocker.lease;

/**
 * The user a claim belongs to.
 *
 * @param name as the host knew it when the claim was made
 */
public record Owner(int uid, String name) {
    /** Of what is known again, and nothing tells whose it was. */
    public static final Owner UNKNOWN = new Owner(-1, "somebody");
}
