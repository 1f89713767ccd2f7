package jnvdocker.lease.text;

import jnvdocker.lease.Claim;
import jnvdocker.lease.ClaimNames;
import jnvdocker.lease.Owner;
import jnvdocker.request.GpuRequest;

import java.util.List;
import java.util.function.Predicate;

/**
 * The one who reads a refusal, and what this one can do: the columns of the table {@link Refusals},
 * whose rows are the outcomes.
 *
 * <table>
 * <caption>Advice</caption>
 * <tr><th>addressee<th>GPUs are busy<th>they cannot be had, whoever ends
 * <tr><td>COMMAND, ENGINE, API<td>to wait; fewer, or others<td>as the reason has it
 * <tr><td>Service<td>to share a partner's; to start it later; fewer, or others<td>likewise
 * <tr><td>ByDefault<td>{@code --gpus 1}; to wait<td>{@code --gpus 1}, if the limit allows it
 * <tr><td>Stopped<td>to start it again later; others<td>as the reason has it; others
 * <tr><td>Told<td>one sentence<td>likewise, or as the reason has it
 * </table>
 */
public sealed interface Addressee {
    /** A user's command, or a program of a framework: it can wait for GPUs. */
    Addressee COMMAND = new Waits(List.of("wait with --gpu-wait"));

    /** The user of an engine that starts a container, and does not wait for GPUs. */
    Addressee ENGINE =
            new Waits(List.of("start it again later", "wait with 'jnvdocker run --gpu-wait'"));

    /** The user of Docker's API for users, where a start waits if a label says so. */
    Addressee API =
            new Waits(
                    List.of(
                            "start it again later",
                            "wait with the label " + ClaimNames.WAIT_LABEL));

    /** A kubelet that admits a pod. It does not retry one that was refused its devices. */
    Told POD_AT_ADMISSION =
            new Told(COMMAND, "make the pod again, which may get others then", true);

    /** A kubelet that starts a container of a pod, and does so again and again. */
    Told POD_AT_START = new Told(COMMAND, "wait, or delete the pod", false);

    /** Swarm, which starts its tasks. */
    Told SWARM = new Told(ENGINE, "Swarm tries again, after some failures on another node", false);

    /**
     * One who can wait.
     *
     * @param ways to get the GPUs later
     */
    record Waits(List<String> ways) implements Addressee {
        public Waits {
            ways = List.copyOf(ways);
        }
    }

    /**
     * A user of compose, who does not type {@code jnvdocker run}.
     *
     * @param owner of the service that requests GPUs, as far as it is known
     * @param isPartner whether a claim is of another service of the project
     */
    record Service(Owner owner, Predicate<Claim> isPartner) implements Addressee {}

    /**
     * A user who has not mentioned GPUs: a default says how many the image gets.
     *
     * @param byEngine whether an engine starts the container, which does not wait
     */
    record ByDefault(GpuRequest request, boolean byEngine) implements Addressee {}

    /**
     * A user who starts a stopped container: it has the nodes of its claim's GPUs, and can be given
     * no others.
     */
    record Stopped(Claim claim) implements Addressee {
        /** What gives the user other GPUs. */
        public static final String RUN_AGAIN = "remove the container and run it again";

        /** The end of an advice. */
        public static final String OTHER_GPUS = ", or " + RUN_AGAIN + " to get other GPUs";
    }

    /**
     * One whose container waits, or is started again, in a way of its own.
     *
     * @param as who else would read the reason
     * @param advice that fits this one
     * @param always whether it also fits when the GPUs are not merely busy
     */
    record Told(Addressee as, String advice, boolean always) implements Addressee {}
}
