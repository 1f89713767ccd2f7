package jnvdocker.lease;

import java.time.Duration;
import java.time.Instant;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;

/**
 * For how long users have had GPUs between two moments, reservations included: a GPU is nobody
 * else's then.
 *
 * @param until when this was read; a lease that is live counts until then
 * @param users the users with any, the one with the most first
 */
public record GpuTime(Instant from, Instant until, List<Use> users) {
    public GpuTime {
        users = List.copyOf(users);
    }

    /**
     * The total of one user.
     *
     * @param owner by the name of the latest lease: users are renamed
     * @param time an hour for each hour of each GPU
     * @param idle the part of that in which the GPUs were seen to be idle
     * @param leases how many have a part of that time
     * @param containers how many were started in these leases
     * @param held how many GPUs are held at the end: a share or a MIG instance is a part of one
     * @param last when the user last had one
     */
    public record Use(
            Owner owner,
            Duration time,
            Duration idle,
            int leases,
            int containers,
            double held,
            Instant last) {

        private Use plus(Use other) {
            return new Use(
                    owner,
                    time.plus(other.time),
                    idle.plus(other.idle),
                    leases + other.leases,
                    containers + other.containers,
                    held + other.held,
                    last.isAfter(other.last) ? last : other.last);
        }

        private Use of(Owner another) {
            return new Use(another, time, idle, leases, containers, held, last);
        }
    }

    /** Adds up the uses whose owners have the same key, which owns the sum. */
    public GpuTime by(Function<Owner, Owner> key) {
        Map<Owner, Use> sums = new LinkedHashMap<>();
        for (Use use : users) {
            Owner owner = key.apply(use.owner());
            sums.merge(owner, use.of(owner), Use::plus);
        }
        return new GpuTime(
                from,
                until,
                sums.values().stream().sorted(Comparator.comparing(Use::time).reversed()).toList());
    }

    /** The time of one owner, whatever the names were; all unknown owners count as one. */
    public Duration of(Owner owner) {
        return users.stream()
                .filter(use -> use.owner().isSameAs(owner))
                .map(Use::time)
                .reduce(Duration.ZERO, Duration::plus);
    }

    /** The time of all users together. */
    public Duration total() {
        return users.stream().map(Use::time).reduce(Duration.ZERO, Duration::plus);
    }
}
