package jnvdocker.lease;

import java.time.Instant;
import java.util.Optional;

/**
 * One period of holding a claim's GPUs.
 *
 * @param id grows with every lease, and is never used again
 * @param boot the boot id under which the holder's processes have their numbers
 * @param mounts how often docker has the claim mounted now
 * @param end empty while the GPUs are held
 */
public record Lease(
        long id,
        Claim claim,
        Holder holder,
        String boot,
        Instant since,
        int mounts,
        Optional<End> end) {

    /**
     * @param evidence that the holder was gone: {@code init 4711 is gone}
     */
    public record End(Instant at, String evidence) {}

    /** Whether a GPU is held under it. */
    public boolean isOf(String uuid) {
        return claim.gpus().stream().anyMatch(gpu -> gpu.uuid().equals(uuid));
    }

    /** Whether nobody else may have a GPU as long as it lives. */
    public boolean excludes(ClaimedGpu other) {
        return claim.gpus().stream().anyMatch(gpu -> gpu.excludes(other));
    }

    /** For a client that has not yet become the program that is to use the GPUs. */
    public boolean isReservation() {
        return switch (holder) {
            case Holder.Client _, Holder.Kubelet _ -> true;
            case Holder.OciContainer container -> container.init().isEmpty();
            case Holder.Process _, Holder.MesosContainer _, Holder.Container _, Holder.Pod _ ->
                    false;
        };
    }

    /**
     * Of a client, which asks for its GPUs again before it uses them: until then they can be taken
     * from it. A container that is just being created has been given them already.
     */
    public boolean isOfClient() {
        return switch (holder) {
            case Holder.Client _, Holder.Kubelet _ -> true;
            case Holder.Process _,
                    Holder.MesosContainer _,
                    Holder.Container _,
                    Holder.OciContainer _,
                    Holder.Pod _ ->
                    false;
        };
    }

    /** Of which docker may have more to say than its processes. */
    public boolean isOfContainer() {
        return switch (holder) {
            case Holder.Container _ -> true;
            case Holder.Client _,
                    Holder.Process _,
                    Holder.MesosContainer _,
                    Holder.OciContainer _,
                    Holder.Kubelet _,
                    Holder.Pod _ ->
                    false;
        };
    }
}
