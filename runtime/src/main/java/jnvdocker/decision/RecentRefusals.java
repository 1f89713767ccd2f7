package jnvdocker.decision;

import jnvdocker.lease.Owner;
import jnvdocker.words.ForeignText;

import java.time.Instant;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Iterator;
import java.util.List;

/**
 * The latest refusals, in memory, so that users can read later why a container did not start. One
 * user's many refusals do not displace those of others. All owners without a uid count as one user,
 * since a container's labels can give it any name.
 */
public final class RecentRefusals {
    private static final int MOST = 400;
    private static final int MOST_OF_ONE = 40;

    private final Deque<Refused> latest = new ArrayDeque<>();

    /**
     * A request for GPUs that was refused.
     *
     * @param purpose the container, or the command of a user: {@code container train-7}
     * @param why for people, with what to do
     */
    public record Refused(Instant at, Owner owner, String purpose, String why) {
        /** Whether it repeats another, as each start by a restart policy does. */
        private boolean isAgain(Refused other) {
            return owner.equals(other.owner)
                    && purpose.equals(other.purpose)
                    && why.equals(other.why);
        }
    }

    public synchronized void add(Instant at, Owner owner, String purpose, String why) {
        Refused refused =
                new Refused(
                        at,
                        owner,
                        ForeignText.cut(purpose, ForeignText.LINE),
                        ForeignText.cut(why, ForeignText.LINE));
        latest.removeIf(refused::isAgain);
        latest.addFirst(refused);
        long ofUser = latest.stream().filter(it -> it.owner().uid() == owner.uid()).count();
        if (ofUser > MOST_OF_ONE) {
            removeOldest(owner.uid());
        } else if (latest.size() > MOST) {
            latest.removeLast();
        }
    }

    private void removeOldest(int uid) {
        for (Iterator<Refused> oldest = latest.descendingIterator(); oldest.hasNext(); ) {
            if (oldest.next().owner().uid() == uid) {
                oldest.remove();
                return;
            }
        }
    }

    /** Returns them, the latest first. */
    public synchronized List<Refused> latest() {
        return List.copyOf(latest);
    }
}
