package jnvdocker.lease.text;

import jnvdocker.lease.Owner;
import jnvdocker.posix.HostNames;
import jnvdocker.posix.NoAnswerException;

import java.time.Duration;

/** Users, by the names that this host has for them. */
public final class Owners {
    /** Root has this name everywhere: the host need not be queried. */
    private static final Owner ROOT = new Owner(0, "root");

    private Owners() {}

    /**
     * The user of that name; one that the host does not have, or does not report in time, has the
     * number -1.
     */
    public static Owner named(String name) {
        return named(name, HostNames.LONGEST);
    }

    /** Likewise, for a caller that waits for no longer than that. */
    static Owner named(String name, Duration patience) {
        try {
            return new Owner(HostNames.ofThisHost().user(name, patience).orElse(-1), name);
        } catch (NoAnswerException e) {
            return new Owner(-1, name);
        }
    }

    /** The user with that number, by the name that the host has for it, if it answers at once. */
    public static Owner of(int uid) {
        if (uid == ROOT.uid()) {
            return ROOT;
        }
        String number = "uid " + Integer.toUnsignedString(uid);
        return new Owner(uid, HostNames.ofThisHost().ofUser(uid).orElse(number));
    }
}
