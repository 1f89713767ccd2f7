package jnvdocker.core;

import jnvdocker.host.Gpu;
import jnvdocker.lease.Kept;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Owner;
import jnvdocker.lease.Ticket;
import jnvdocker.request.GpuRequest;

import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.stream.Collectors;

/**
 * The clients for whom GPUs are to be kept, by the model's own account: the first that can be
 * served by GPUs that are free or held by others, and no more GPUs than it needs.
 */
final class ModelQueue {
    private final SimulatedLab lab;
    private final List<Gpu> gpus;
    private final Map<String, List<Lease>> held;
    private final Set<String> used;
    private final Predicate<Owner> isSpent;
    private final Function<String, Optional<Kept>> aside;

    /**
     * @param held by the UUIDs of GPUs
     * @param used the UUIDs of GPUs in unmanaged use
     * @param isSpent whether a user has used up the GPU-hours
     * @param aside why a GPU that nobody holds is kept
     */
    ModelQueue(
            SimulatedLab lab,
            List<Gpu> gpus,
            Map<String, List<Lease>> held,
            Set<String> used,
            Predicate<Owner> isSpent,
            Function<String, Optional<Kept>> aside) {
        this.isSpent = isSpent;
        this.aside = aside;
        this.lab = lab;
        this.gpus = gpus;
        this.held = held;
        this.used = used;
    }

    /** Whether a waiting client could be served without its user giving anything back. */
    boolean canBeServed(Ticket ticket) {
        if (isSpent.test(ticket.owner())) {
            return false;
        }
        Set<String> wanted = wanted(ticket);
        int needed =
                ticket.requested().request() instanceof GpuRequest.Count(int count, _)
                        ? count
                        : Math.max(1, wanted.size());
        long toBeHad = wanted.stream().filter(gpu -> mayComeFree(gpu, ticket)).count();
        double more = lab.counted(ticket.requested().request(), lab.allowed(ticket.owner(), gpus));
        return toBeHad >= needed
                && lab.heldBy(ticket.owner(), held) + more <= 0.001 + lab.quota(ticket.owner());
    }

    private Set<String> wanted(Ticket ticket) {
        GpuRequest request = ticket.requested().request();
        List<Gpu> gpus = lab.allowed(ticket.owner(), this.gpus);
        if (request instanceof GpuRequest.Devices || SimulatedLab.share(request).isPresent()) {
            return lab.wanted(request, gpus).stream()
                    .filter(gpu -> request instanceof GpuRequest.Devices || !lab.isCordoned(gpu))
                    .collect(Collectors.toSet());
        }
        return gpus.stream()
                .map(Gpu::uuid)
                .filter(gpu -> !lab.isCordoned(gpu))
                .collect(Collectors.toSet());
    }

    private boolean mayComeFree(String gpu, Ticket ticket) {
        List<Lease> own =
                held.getOrDefault(gpu, List.of()).stream()
                        .filter(lease -> lease.claim().owner().uid() == ticket.owner().uid())
                        .filter(lease ->
                                !(lease.claim().origin().isScheduled()
                                        && ticket.requested().scheduled()))
                        .toList();
        return lab.hasRoom(gpu, own, SimulatedLab.share(ticket.requested().request()))
                && !lab.isCordoned(gpu)
                && !isUsed(gpu, ticket.requested().request());
    }

    private boolean isUsed(String gpu, GpuRequest request) {
        boolean anyway = request instanceof GpuRequest.Devices && lab.policy().allowUnmanaged();
        return !anyway && used.contains(gpu);
    }

    /**
     * The UUIDs of GPUs that are free and kept: as many as may be.
     *
     * @param waiting first come first
     * @param rather the GPUs to keep first where there are more than needed
     */
    Set<String> kept(List<Ticket> waiting, Predicate<String> rather) {
        Set<String> kept = new HashSet<>();
        for (int i = 0; i < waiting.size(); i++) {
            Ticket ticket = waiting.get(i);
            Set<String> named = named(waiting.subList(i + 1, waiting.size()));
            if (canBeServed(ticket)) {
                long most =
                        ticket.requested().request() instanceof GpuRequest.Count(int count, _)
                                ? count
                                : gpus.size();
                List<String> wanted =
                        wanted(ticket).stream()
                                .filter(gpu -> !kept.contains(gpu))
                                .filter(gpu ->
                                        !lab.isKeptFrom(
                                                ticket.owner(),
                                                gpu,
                                                ticket.requested().time(),
                                                aside.apply(gpu)))
                                .sorted(
                                        Comparator.comparing((String gpu) -> !rather.test(gpu))
                                                .thenComparing(named::contains)
                                                .thenComparing(gpu -> !held.containsKey(gpu)))
                                .toList();
                List<String> free =
                        wanted.stream()
                                .filter(gpu -> isFree(gpu, ticket.requested().request()))
                                .limit(most)
                                .toList();
                kept.addAll(free);
                wanted.stream()
                        .filter(gpu -> isRest(gpu, ticket.requested().request()))
                        .limit(most - free.size())
                        .toList()
                        .forEach(kept::add);
            }
        }
        return kept;
    }

    private boolean isFree(String gpu, GpuRequest request) {
        return hasRoom(gpu, request) && !isUsed(gpu, request);
    }

    private boolean hasRoom(String gpu, GpuRequest request) {
        return lab.hasRoom(gpu, held.getOrDefault(gpu, List.of()), SimulatedLab.share(request));
    }

    /** Whether others have shares of it, and what is left is too little. */
    private boolean isRest(String gpu, GpuRequest request) {
        List<Lease> leases = held.getOrDefault(gpu, List.of());
        return !isFree(gpu, request)
                && !lab.isCordoned(gpu)
                && !leases.isEmpty()
                && leases.stream().allMatch(lease -> lease.claim().share().isPresent());
    }

    /** The GPUs that clients want which are served later: the choice may leave them these. */
    private Set<String> named(List<Ticket> later) {
        return later.stream()
                .map(ticket -> ticket.requested().request())
                .filter(GpuRequest.Devices.class::isInstance)
                .flatMap(request -> lab.wanted(request, gpus).stream())
                .collect(Collectors.toSet());
    }
}
