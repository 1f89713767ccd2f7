/**
 * The holders of GPUs, as values, and the choice of GPUs: no I/O. A claim is a container's right to
 * request certain GPUs and lives as long as the container; a lease is one period of holding them.
 *
 * <p>A {@link Situation} has all that a decision depends on, as of one moment: the GPUs, the
 * leases, the queue, bookings, cordons, uses and limits. For one GPU and one {@link Requested} it
 * gives one {@link Verdict}: the reasons why the request cannot have the GPU, all of them, in one
 * order. A {@link GpuChoice} takes the GPUs that a request may be given ({@link Scope}), and has
 * {@link GpuPick} pick among those without a reason. What cannot be had is an {@link Outcome} with
 * the verdicts against it, of which the texts make the refusal. {@code gpu ls}, {@code gpu why},
 * the page, the devices of pods, the resources of a Mesos agent and bookings read the same
 * verdicts, each with its own question.
 *
 * <p>If GPU 0 is held by bob, and GPU 1 is cordoned and used without a lease, alice's {@code --gpus
 * 1} has the verdicts {@code 0: Held} and {@code 1: Cordoned, InUse}. The choice counts GPU 0 as
 * busy and GPU 1 as out of service, the queue expects bob's end and so may keep GPU 0 for alice,
 * and {@code gpu ls} shows HELD and UNMANAGED with the note of the cordon.
 *
 * <p>Start at {@link Lease}, then {@link Verdict}, {@link Situation} and {@link GpuChoice}. It has
 * more than 3,000 lines: the rules (choice, shares, limits, bookings, order of the queue) take the
 * same values, and a reader of one has to see the others.
 */
package jnvdocker.lease;
