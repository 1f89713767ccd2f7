package jnvdocker.command.gpu.view;

import jnvdocker.lease.AfterStop;
import jnvdocker.lease.HolderName;
import jnvdocker.lease.Lease;
import jnvdocker.words.Quote;
import jnvdocker.words.RefusedException;

import java.util.Collection;
import java.util.List;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Finds the claims that a user means among those whose GPUs are kept after a stop. */
public final class KeptClaim {
    private KeptClaim() {}

    /**
     * Returns the claims of one stopped container; none when a claim that holds GPUs is meant, or
     * no claim is.
     *
     * @param text as {@link HolderName} has it
     * @throws RefusedException when it matches more than one container
     */
    public static List<AfterStop> find(String text, List<Lease> live, Collection<AfterStop> all)
            throws RefusedException {
        if (text.isEmpty()) {
            return List.of();
        }
        List<AfterStop> exact = matching(all, kept -> kept.claim().equals(text));
        if (!exact.isEmpty()) {
            return exact;
        }
        List<Lease> held = HolderName.meant(text, live);
        List<AfterStop> kept =
                matching(
                        all,
                        it ->
                                HolderName.isName(text, it.name())
                                        || HolderName.isId(text, it.claim()));
        boolean isOne =
                Stream.concat(
                                        held.stream().map(KeptClaim::container),
                                        kept.stream().map(KeptClaim::container))
                                .distinct()
                                .count()
                        < 2;
        if (!kept.isEmpty() && !isOne) {
            throw LiveClaim.ambiguous(
                    text,
                    Stream.concat(
                                    held.stream().map(LiveClaim::name),
                                    kept.stream()
                                            .map(it -> it.claim() + " " + Quote.shown(it.name())))
                            .collect(Collectors.joining(", ")));
        }
        return held.isEmpty() ? kept : List.of();
    }

    private record Container(int uid, String name) {}

    private static Container container(Lease lease) {
        return new Container(lease.claim().owner().uid(), lease.claim().displayName());
    }

    private static Container container(AfterStop kept) {
        return new Container(kept.owner().uid(), kept.name());
    }

    private static List<AfterStop> matching(
            Collection<AfterStop> all, Predicate<AfterStop> condition) {
        return all.stream().filter(condition).distinct().toList();
    }
}
