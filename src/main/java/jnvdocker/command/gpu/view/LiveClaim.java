package jnvdocker.command.gpu.view;

import jnvdocker.lease.HolderName;
import jnvdocker.lease.Lease;
import jnvdocker.words.Quote;
import jnvdocker.words.RefusedException;

import java.util.List;
import java.util.stream.Collectors;

/** Finds the claim that a user means among those that hold GPUs. */
public final class LiveClaim {
    private LiveClaim() {}

    /**
     * @param text as {@link HolderName} has it
     * @throws RefusedException when it matches none, or more than one
     */
    public static Lease find(String text, List<Lease> live) throws RefusedException {
        List<Lease> meant = HolderName.meant(text, live);
        if (meant.isEmpty()) {
            throw new RefusedException(
                    "no claim or container " + Quote.quoted(text) + " holds a GPU",
                    (live.isEmpty() ? "none does" : "those that do: " + names(live))
                            + " ('jnvdocker gpu leases')");
        }
        if (meant.size() > 1) {
            throw ambiguous(text, names(meant));
        }
        return meant.getFirst();
    }

    private static String names(List<Lease> leases) {
        return leases.stream().map(LiveClaim::name).collect(Collectors.joining(", "));
    }

    static String name(Lease lease) {
        return lease.claim().id() + " " + HolderName.shown(lease);
    }

    static RefusedException ambiguous(String text, String claims) {
        return new RefusedException(
                Quote.quoted(text) + " matches more than one claim: " + claims,
                "type more of its claim's id");
    }
}
