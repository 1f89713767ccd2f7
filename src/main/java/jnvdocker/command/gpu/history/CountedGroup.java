package jnvdocker.command.gpu.history;

import jnvdocker.lease.Owner;
import jnvdocker.posix.HostNames;
import jnvdocker.posix.NoAnswerException;

import java.time.Duration;
import java.util.Set;

/** The group for which a user's hours count. */
final class CountedGroup {
    /** The wait for a directory service, for each name. */
    private static final Duration PATIENCE = Duration.ofSeconds(2);

    private CountedGroup() {}

    /**
     * The first of some groups that a user is in, else the user's own; {@code -} without one, and
     * if it is not known which comes first.
     */
    static String of(Owner owner, Set<String> some) {
        if (owner.uid() == Owner.UNKNOWN.uid()) {
            return "-";
        }
        HostNames names = HostNames.ofThisHost();
        try {
            for (String each : some) {
                if (!names.groupsOf(owner.uid(), Set.of(each), PATIENCE).isEmpty()) {
                    return each;
                }
            }
        } catch (NoAnswerException e) {
            return "-";
        }
        return names.groupOf(owner.uid()).orElse("-");
    }
}
