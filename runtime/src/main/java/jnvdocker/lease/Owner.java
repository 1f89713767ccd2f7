package jnvdocker.lease;

/**
 * The user a claim belongs to.
 *
 * @param name as the host knew it when the claim was made
 */
public record Owner(int uid, String name) {
    /** The owner of a claim that was recovered without its owner. */
    public static final Owner UNKNOWN = new Owner(-1, "somebody");

    /** Of all pods: whose they are, and how many GPUs they may have, Kubernetes knows. */
    public static final Owner KUBERNETES = new Owner(-1, "kubernetes");

    /** An unknown owner, under a name that is a guess: {@code alice?}. */
    public static Owner guessed(String name) {
        return new Owner(UNKNOWN.uid(), name + "?");
    }

    /** Whether it stands for the users of Kubernetes. */
    public boolean isKubernetes() {
        return equals(KUBERNETES);
    }

    /** Whether GPUs of the other count as this one's: those of all who are unknown do. */
    boolean isSameAs(Owner other) {
        return uid == other.uid() && isKubernetes() == other.isKubernetes();
    }

    /** Whether the user is unknown, guess or not. */
    public boolean isUnknown() {
        return uid == UNKNOWN.uid() && !isKubernetes();
    }
}
