package jnvdocker.lease;

import jnvdocker.posix.ProcessId;
import jnvdocker.words.ForeignText;

import java.time.Duration;
import java.time.Instant;
import java.util.Optional;

/**
 * One period of holding a claim's GPUs.
 *
 * @param id grows with every lease, and is never used again
 * @param boot the boot id under which the holder's processes have their numbers
 * @param time how long it may last; empty for as long as its holder
 * @param mounts how often docker has the claim mounted now
 * @param end empty while the GPUs are held
 */
public record Lease(
        long id,
        Claim claim,
        Holder holder,
        String boot,
        Instant since,
        Optional<Duration> time,
        int mounts,
        Optional<End> end) {
    /**
     * @param evidence that the holder was gone: {@code init 4711 is gone}
     */
    public record End(Instant at, String evidence) {
        public End {
            evidence = ForeignText.line(evidence);
        }
    }

    /** The process whose end frees the GPUs, as far as it is known. */
    public Optional<ProcessId> process() {
        Optional<ProcessId> known = holder.init().or(() -> Optional.of(holder.process()));
        return switch (claim.origin().kind()) {
            case POD -> Optional.empty();
            case ENGINE -> isReservation() ? known : holder.init();
            case OCI, PROCESS, MESOS -> known;
        };
    }

    /** When the holder should have given the GPUs back. */
    public Optional<Instant> due() {
        return time.map(since::plus);
    }

    /** How much of its time is left; negative when that is over, empty when it is not limited. */
    public Optional<Duration> left(Instant now) {
        return due().map(due -> Duration.between(now, due));
    }

    /** Whether it lives longer than it may: it stays its holder's all the same. */
    public boolean isOverdue(Instant now) {
        return end.isEmpty() && due().filter(due -> !now.isBefore(due)).isPresent();
    }

    /** Whether a GPU is held under it. */
    public boolean isOf(String uuid) {
        return claim.gpus().stream().anyMatch(gpu -> gpu.uuid().equals(uuid));
    }

    /** The share of a GPU that is held under it. */
    public Optional<Share> share(String uuid) {
        return claim.gpus().stream()
                .filter(gpu -> gpu.uuid().equals(uuid))
                .findFirst()
                .flatMap(ClaimedGpu::share);
    }

    /** As how many GPUs one counts that is held under it. */
    double count(String uuid) {
        return claim.gpus().stream()
                .filter(gpu -> gpu.uuid().equals(uuid))
                .mapToDouble(ClaimedGpu::count)
                .sum();
    }

    /** Whether nobody else may have the whole of a GPU as long as it lives. */
    public boolean excludes(ClaimedGpu other) {
        return claims(other) || opened(other).isPresent();
    }

    /** Whether a GPU is its own, is a part of one, or has one as its part. */
    public boolean claims(ClaimedGpu other) {
        return claim.gpus().stream().anyMatch(gpu -> gpu.excludes(other));
    }

    /**
     * The GPU of its own whose nodes its holder opens another GPU by, since the driver has given
     * out the numbers anew; empty for a GPU of its own, and for one that it cannot open.
     *
     * @param other a GPU with the nodes that it has now
     */
    public Optional<ClaimedGpu> opened(ClaimedGpu other) {
        return claims(other)
                ? Optional.empty()
                : claim.gpus().stream().filter(gpu -> gpu.opens(other)).findFirst();
    }

    /** Whether its client or container does not use the GPUs yet, as far as it is known. */
    public boolean isReservation() {
        return holder.stage() != Holder.Stage.HELD;
    }

    /**
     * Whether it is a client's, which requests its GPUs again before it uses them: until then they
     * can be taken from it. A container that is just being created has them already.
     */
    public boolean isOfClient() {
        return holder.stage() == Holder.Stage.RESERVED;
    }

    /** Whether it is a container's of which docker may know more than its processes show. */
    public boolean isOfContainer() {
        return holder.stage() == Holder.Stage.HELD && claim.origin().isKnownToDocker();
    }

    /** A copy with another holder. */
    public Lease of(Holder other) {
        return new Lease(id, claim, other, boot, since, time, mounts, end);
    }

    /** A copy under another claim to the same GPUs. */
    public Lease of(Claim other) {
        return new Lease(id, other, holder, boot, since, time, mounts, end);
    }

    /** A copy with another pod in its claim, of which more is known. */
    public Lease of(Origin.Pod known) {
        return new Lease(id, claim.of(known), holder, boot, since, time, mounts, end);
    }

    /** Whether it is still what it was when it was seen: no other process has it by now. */
    public boolean isStill(Lease seen) {
        return id == seen.id
                && holder.equals(seen.holder)
                && mounts == seen.mounts
                && claim.origin().equals(seen.claim.origin());
    }
}
