package jnvdocker.lease;

import java.util.Set;

/**
 * The users whom a limit is for: each of them on their own, except that all unknown users together
 * count as one, and so do the pods of a namespace.
 *
 * @param name of the user, group or namespace; empty for the other kinds
 */
public record Subject(Kind kind, String name) {
    /** The kinds of subjects. */
    public enum Kind {
        /** Every user, known or not. */
        EVERYBODY,
        /** Containers of unknown users. */
        UNKNOWN,
        /** Each namespace of Kubernetes. */
        NAMESPACES,
        /** One user, by name or uid, or one namespace as {@code gpu ls} names it. */
        USER,
        /** The members of a group of the host. */
        GROUP
    }

    public static final Subject EVERYBODY = new Subject(Kind.EVERYBODY, "");
    public static final Subject UNKNOWN = new Subject(Kind.UNKNOWN, "");
    public static final Subject NAMESPACES = new Subject(Kind.NAMESPACES, "");

    /** {@code *}, {@code @GROUP}, or a user. */
    public static Subject parse(String text) {
        if (text.equals("*")) {
            return EVERYBODY;
        }
        return text.startsWith("@")
                ? new Subject(Kind.GROUP, text.substring(1))
                : new Subject(Kind.USER, text);
    }

    /** Returns a user, group or namespace as the configuration spells it: {@code @students}. */
    public String spelled() {
        return kind == Kind.GROUP ? "@" + name : name;
    }

    /**
     * Whether a limit of this subject is one of the owner's.
     *
     * @param groups the names of the owner's groups, as far as limits name them
     */
    boolean fits(Owner owner, Set<String> groups) {
        if (owner.isTrial()) {
            return false;
        }
        return switch (kind) {
            case EVERYBODY -> !owner.isKubernetes();
            case UNKNOWN -> owner.isUnknown();
            case NAMESPACES -> owner.isNamespace();
            case USER ->
                    !owner.isUnknown()
                            && (name.equals(owner.name())
                                    || name.equals(Integer.toUnsignedString(owner.uid())));
            case GROUP -> groups.contains(name);
        };
    }
}
