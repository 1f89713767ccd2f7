package jnvdocker.command.job;

import jnvdocker.core.LeaseParts;
import jnvdocker.lease.HolderName;
import jnvdocker.lease.Lease;
import jnvdocker.posix.ProcessId;

import java.io.IOException;
import java.util.List;
import java.util.Optional;

/** The leases of running jobs, and the GPUs that others wait for. */
final class JobLeases {
    private final LeaseParts parts;

    JobLeases(LeaseParts parts) {
        this.parts = parts;
    }

    /** The claim of the GPUs that a process holds. */
    Optional<String> claimOf(ProcessId process) throws IOException {
        return live().stream()
                .filter(lease -> lease.holder().process().equals(process))
                .map(lease -> lease.claim().id())
                .findFirst();
    }

    /**
     * Whether a word means a holder of GPUs that a job has, or the one that it waits for.
     *
     * @param process of the job, if it runs
     */
    boolean isMeant(String word, Job job, Optional<ProcessId> process) throws IOException {
        return !of(job, HolderName.meant(word, live())).isEmpty()
                || parts.leases().waiting().stream()
                        .map(waiter -> waiter.ticket().request())
                        .filter(request -> process.filter(request.client()::equals).isPresent())
                        .anyMatch(request -> HolderName.isWaiting(word, request));
    }

    /** Has everything stopped that holds GPUs of a job. */
    void stop(Job job) throws IOException {
        for (Lease lease : of(job, live())) {
            if (!lease.isReservation()) {
                parts.stops().stop(lease, "job " + job.id() + " was cancelled");
            }
        }
    }

    private List<Lease> live() throws IOException {
        return parts.leases().live();
    }

    /**
     * Those of these leases that a running job has: the one of its claim, and the one of the
     * container that its claim is for. The OCI runtime gives each start of a container a claim of
     * its own.
     */
    private List<Lease> of(Job job, List<Lease> leases) throws IOException {
        if (job.state() != Job.State.RUNNING || job.start().claim() == null) {
            return List.of();
        }
        String claim = job.start().claim();
        Optional<String> container = parts.leases().claims().containerOf(claim);
        return leases.stream()
                .filter(lease ->
                        lease.claim().id().equals(claim)
                                || container.filter(lease.claim()::isOfContainer).isPresent())
                .toList();
    }
}
