package jnvdocker.lease;

import jnvdocker.words.ForeignText;

/**
 * The user a claim belongs to.
 *
 * @param name as the host knew it when the claim was made
 */
public record Owner(int uid, String name) {
    public Owner {
        name = ForeignText.name(name);
    }

    /** The owner of a claim that was recovered without its owner. */
    public static final Owner UNKNOWN = new Owner(-1, "somebody");

    /**
     * The owner of the daemon's own trial of a runtime: no limit applies to the trial, nothing is
     * kept after the trial, and the history does not have the trial.
     */
    public static final Owner TRIAL = new Owner(-1, "jnvdocker");

    /** The owner of pods while their namespace is not known. */
    public static final Owner KUBERNETES = new Owner(-1, "kubernetes");

    /** The prefix of a namespace's name. A guess has a question mark at its end. */
    public static final String NAMESPACE = KUBERNETES.name() + ":";

    /** The owner of pods of a namespace of Kubernetes: {@code kubernetes:team-a}. */
    static Owner ofNamespace(String namespace) {
        return namespace.isEmpty()
                ? KUBERNETES
                : new Owner(KUBERNETES.uid(), NAMESPACE + namespace);
    }

    /** An unknown owner, under a name that is a guess: {@code alice?}. */
    public static Owner guessed(String name) {
        return new Owner(
                UNKNOWN.uid(), ForeignText.cut(ForeignText.name(name), ForeignText.NAME - 1) + "?");
    }

    /** Whether it stands for the users of a namespace, or of any of Kubernetes. */
    public boolean isKubernetes() {
        return equals(KUBERNETES) || isNamespace();
    }

    /** Whether it stands for the users of a namespace of Kubernetes. */
    boolean isNamespace() {
        return uid == KUBERNETES.uid() && name.startsWith(NAMESPACE) && !name.endsWith("?");
    }

    /** Whether GPUs of the other count as this one's: those of all unknown owners do. */
    public boolean isSameAs(Owner other) {
        return isNobody() ? equals(other) : uid == other.uid() && !other.isNobody();
    }

    /** Whether it stands for no user of the host, known or not. */
    private boolean isNobody() {
        return isKubernetes() || isTrial();
    }

    /** Whether it stands for the daemon's own trial of a runtime. */
    public boolean isTrial() {
        return equals(TRIAL);
    }

    /** Whether the user is unknown, guess or not. */
    public boolean isUnknown() {
        return uid == UNKNOWN.uid() && !isNobody();
    }
}
