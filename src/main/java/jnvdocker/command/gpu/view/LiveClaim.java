package jnvdocker.command.gpu.view;

import jnvdocker.lease.Claim;
import jnvdocker.lease.Lease;
import jnvdocker.words.Quote;
import jnvdocker.words.RefusedException;

import java.util.List;
import java.util.function.Predicate;
import java.util.stream.Collectors;

/** Finds the claim that a user means among those that hold GPUs. */
public final class LiveClaim {
    private LiveClaim() {}

    /**
     * @param text a claim's id or the beginning of one, a container's name or id, or a program's
     *     name
     * @throws RefusedException when it matches none, or more than one
     */
    public static Lease find(String text, List<Lease> live) throws RefusedException {
        List<Lease> meant = meant(text, live);
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

    /**
     * Users choose names freely, so a name does not take precedence over the beginning of another
     * claim's id.
     */
    public static List<Lease> meant(String text, List<Lease> live) {
        if (text.isEmpty()) {
            return List.of();
        }
        List<Lease> exact = matching(live, claim -> claim.id().equals(text));
        return exact.isEmpty()
                ? matching(
                        live,
                        claim ->
                                claim.id().startsWith(text)
                                        || isItsContainer(text, claim)
                                        || isItsTitle(text, claim))
                : exact;
    }

    /**
     * Whether a text is the name of the program, task or pod that a claim without a container has.
     */
    private static boolean isItsTitle(String text, Claim claim) {
        return claim.container().isEmpty() && claim.origin().title().equals(text);
    }

    /** Whether a text is the name of a claim's container, or its id or the beginning of that. */
    public static boolean isItsContainer(String text, Claim claim) {
        return !text.isEmpty()
                && claim.container()
                        .filter(it -> it.name().equals(text) || it.id().startsWith(text))
                        .isPresent();
    }

    private static List<Lease> matching(List<Lease> live, Predicate<Claim> condition) {
        return live.stream().filter(lease -> condition.test(lease.claim())).toList();
    }

    private static String names(List<Lease> leases) {
        return leases.stream().map(LiveClaim::name).collect(Collectors.joining(", "));
    }

    static String name(Lease lease) {
        return lease.claim().id() + " " + Holding.container(lease);
    }

    static RefusedException ambiguous(String text, String claims) {
        return new RefusedException(
                Quote.quoted(text) + " matches more than one claim: " + claims,
                "type more of its claim's id");
    }
}
