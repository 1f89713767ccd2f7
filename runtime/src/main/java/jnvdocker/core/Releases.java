package jnvdocker.core;

import jnvdocker.holder.Evidence;
import jnvdocker.holder.HolderText;
import jnvdocker.holder.Life;
import jnvdocker.keeper.Keeper;
import jnvdocker.lease.Allowance;
import jnvdocker.lease.Booking;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Owner;
import jnvdocker.lease.Quota;
import jnvdocker.lease.Rule;
import jnvdocker.lease.text.KeptText;
import jnvdocker.lease.text.LeaseText;
import jnvdocker.lease.text.QuotaText;
import jnvdocker.lease.text.TimeText;
import jnvdocker.registry.LeaseRegistry;
import jnvdocker.supply.Supply;
import jnvdocker.words.Quote;
import jnvdocker.words.RefusedException;

import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;

/** Ends leases by command, and gives them more time. */
public final class Releases {
    private static final String FORCED = "released by force: ";

    private final LeaseRegistry registry;
    private final Keeper keeper;
    private final Evidence evidence;
    private final HolderText holders;
    private final Supply supply;

    Releases(LeaseRegistry registry, Keeper keeper, Evidence evidence, Supply supply) {
        this.registry = registry;
        this.keeper = keeper;
        this.evidence = evidence;
        holders = new HolderText(evidence);
        this.supply = supply;
    }

    /**
     * Ends the lease of a claim when its holder is gone.
     *
     * @throws RefusedException when there is none, or its holder is not known to be gone
     */
    public Lease ifGone(String claim) throws RefusedException, IOException {
        Lease lease = live(claim);
        keeper.end(List.of(lease), Keeper.Caller.CLIENT);
        if (registry.liveOf(claim).filter(now -> now.id() == lease.id()).isPresent()) {
            throw new RefusedException(
                    LeaseText.holder(lease) + " is not released: " + holders.explain(lease),
                    evidence.of(lease) instanceof Life.Gone
                            ? "with --force it is, unless a program still uses its GPUs"
                            : LeaseText.toEnd(lease.claim()));
        }
        return lease;
    }

    /**
     * Ends the lease of a claim when its holder does not run: a reservation, or the lease of a
     * container that the engine may be about to start again.
     *
     * @param who the user and the reason, for the history
     * @throws RefusedException when the claim has none, or its holder runs and would go on to use
     *     the GPUs
     */
    public Lease unused(String claim, String who) throws RefusedException, IOException {
        Lease lease = live(claim);
        keeper.end(List.of(lease), Keeper.Caller.CLIENT);
        Optional<Lease> now = registry.liveOf(claim).filter(it -> it.id() == lease.id());
        if (now.isEmpty()) {
            return lease;
        }
        boolean unused = now.get().isOfClient() || evidence.of(now.get()) instanceof Life.Gone;
        if (!unused || !keeper.endUnused(now.get(), FORCED + who)) {
            throw new RefusedException(
                    "%s is not released: %s, and could go on to use what another would get"
                            .formatted(LeaseText.holder(now.get()), holders.explain(now.get())),
                    LeaseText.toEnd(lease.claim()) + "; root can still release it");
        }
        return lease;
    }

    /**
     * A lease that root has ended.
     *
     * @param runs the part of its holder that runs, and can use the GPUs as before; empty when
     *     nothing does
     */
    public record Released(Lease lease, Optional<String> runs) {}

    /**
     * Ends the lease of a claim, whatever its holder does: its GPUs are given to others from now
     * on, though it may run. For root alone, at root's own risk.
     *
     * @param who the user and the reason, for the history
     * @throws RefusedException when the claim has none
     */
    public Released byForce(String claim, String who) throws RefusedException, IOException {
        Lease lease = live(claim);
        while (true) {
            boolean idle = lease.isOfClient() || evidence.of(lease) instanceof Life.Gone;
            String what = holders.explain(lease);
            if (keeper.endByForce(lease, FORCED + who)) {
                return new Released(lease, idle ? Optional.empty() : Optional.of(what));
            }
            // A reservation may have become a container's meanwhile.
            lease =
                    registry.stillLive(List.of(lease)).stream()
                            .findFirst()
                            .orElseThrow(() ->
                                    new RefusedException(
                                            "the lease of claim "
                                                    + claim
                                                    + " has just ended by itself",
                                            "'jnvdocker gpu leases --all' says how"));
        }
    }

    /** Others may have what is kept for the owner of a stopped container. */
    public void afterStop(String claim) throws IOException {
        registry.decide(writer -> {
            writer.forgetStop(claim);
            return null;
        });
    }

    /**
     * Gives a lease more time.
     *
     * @param more from its end on, or from now on when that has passed
     * @param byRoot whether the limits of its owner do not count
     * @return the lease with its new end
     * @throws RefusedException when it has no end, or its owner may not hold GPUs that long
     */
    public Lease extend(Lease lease, Duration more, boolean byRoot)
            throws RefusedException, IOException {
        String name = LeaseText.holder(lease);
        if (lease.due().isEmpty()) {
            throw new RefusedException(
                    name + " may hold its GPUs as long as it runs", "there is nothing to extend");
        }
        Instant now = registry.now();
        Instant from = lease.isOverdue(now) ? now : lease.due().get();
        Duration time = Duration.between(lease.since(), from.plus(more));
        Owner owner = lease.claim().owner();
        supply.learn(owner, Supply.NAMES_LIMIT);
        Allowance allowance = supply.allowance(owner);
        if (!byRoot && !allowance.isKnown()) {
            Quota.Unsure unsure = new Quota.Unsure(owner);
            throw new RefusedException(QuotaText.why(unsure), QuotaText.remedy(unsure));
        }
        if (!byRoot && allowance.hold().filter(it -> time.compareTo(it.limit()) > 0).isPresent()) {
            Rule<Duration> longest = allowance.hold().get();
            throw new RefusedException(
                    name
                            + " has held its GPUs since "
                            + LeaseText.time(lease.since())
                            + ", and "
                            + TimeText.longestHold(longest),
                    "extend it until "
                            + LeaseText.time(lease.since().plus(longest.limit()))
                            + " at most; root can extend it further");
        }
        Instant due = lease.since().plus(time);
        if (!byRoot) {
            refuseBeyond(lease, due);
        }
        Optional<Booking> next = registry.holdings().next(lease.claim());
        if (!byRoot && next.filter(it -> it.from().isBefore(due)).isPresent()) {
            throw new RefusedException(
                    name + " has a GPU that is " + KeptText.of(next.get()),
                    "extend it until "
                            + LeaseText.time(next.get().from())
                            + " at most; root can extend it further");
        }
        registry.decide(writer -> {
            writer.extend(lease, time);
            return null;
        });
        return live(lease.claim().id());
    }

    /** The live lease of a claim. */
    public Lease live(String claim) throws RefusedException, IOException {
        Optional<Lease> lease = registry.liveOf(claim);
        if (lease.isEmpty()) {
            String held =
                    registry.live().stream()
                            .map(live -> live.claim().id())
                            .collect(Collectors.joining(", "));
            throw new RefusedException(
                    "claim " + Quote.shown(claim) + " holds no GPU",
                    (held.isEmpty() ? "no claim does" : "those that do: " + held)
                            + " ('jnvdocker gpu leases')");
        }
        return lease.get();
    }

    /**
     * A container that was given another's GPUs lasts no longer than that one may: else each of two
     * could take them over from the other for ever.
     */
    private void refuseBeyond(Lease lease, Instant due) throws RefusedException, IOException {
        if (!registry.decide(writer -> writer.isJoined(lease))) {
            return;
        }
        List<Lease> others = registry.holdings().beside(lease.claim());
        boolean inTime =
                others.stream().anyMatch(other -> other.due().filter(due::isAfter).isEmpty());
        if (!inTime) {
            throw new RefusedException(
                    LeaseText.holder(lease)
                            + " was given the GPUs of another container, and ends with its time",
                    others.isEmpty()
                            ? "root can extend it"
                            : "extend claim " + others.getFirst().claim().id() + " first");
        }
    }
}
