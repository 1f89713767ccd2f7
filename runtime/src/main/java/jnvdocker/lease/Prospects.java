package jnvdocker.lease;

import jnvdocker.host.Gpu;
import jnvdocker.request.GpuFilter;
import jnvdocker.request.GpuRequest;
import jnvdocker.request.GpuResolver;
import jnvdocker.words.RefusedException;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;
import java.util.stream.Collectors;

/**
 * Whether a waiting client can be served by GPUs that are free, or that others give back. GPUs that
 * its own user holds do not come free without that user, and for GPUs in unmanaged use, cordoned,
 * sick or missing, no holder's end can be expected. For a client that cannot be served, no free GPU
 * is kept.
 */
final class Prospects {
    private final List<Gpu> gpus;
    private final GpuTraits traits;
    private final Holdings holdings;
    private final UnmanagedUses unmanaged;
    private final Cordons cordons;
    private final Quota quota;
    private final Set<Gpu> usable;

    /** Many may wait for the same. */
    private final Map<GpuRequest, List<Gpu>> wanted = new HashMap<>();

    /**
     * @param gpus the only ones that the client may be given
     */
    Prospects(
            List<Gpu> gpus,
            GpuTraits traits,
            Holdings holdings,
            UnmanagedUses unmanaged,
            Cordons cordons,
            Quota quota) {
        this.gpus = gpus;
        this.traits = traits;
        this.holdings = holdings;
        this.unmanaged = unmanaged;
        this.cordons = cordons;
        this.quota = quota;
        usable =
                gpus.stream()
                        .filter(gpu -> gpu.isSound() && cordons.of(gpu).isEmpty())
                        .collect(Collectors.toSet());
    }

    /** Whether it can be served without its user giving anything back. */
    boolean canBeServed(Ticket ticket) {
        List<Gpu> wanted = wanted(ticket.request());
        long toBeHad = wanted.stream().filter(gpu -> isToBeHad(gpu, ticket)).count();
        return toBeHad >= needed(ticket.request(), wanted)
                && quota.excess(ticket.owner(), counted(ticket.request())).isEmpty();
    }

    /** The GPUs that can serve the request; none if it names one that is not there. */
    List<Gpu> wanted(GpuRequest request) {
        return wanted.computeIfAbsent(request, this::find);
    }

    private List<Gpu> find(GpuRequest request) {
        return switch (request) {
            // Such a request does not wait.
            case GpuRequest.None _, GpuRequest.With _ -> List.of();
            case GpuRequest.All _ -> gpus.stream().filter(usable::contains).toList();
            case GpuRequest.Count count -> traits.matching(count.filter(), gpus);
            case GpuRequest.Devices(List<String> ids) -> {
                try {
                    yield GpuResolver.resolve(ids, gpus);
                } catch (RefusedException e) {
                    yield List.of();
                }
            }
        };
    }

    /** How many of those; never 0, so that a request for all of no GPUs is not served. */
    private static int needed(GpuRequest request, List<Gpu> wanted) {
        return switch (request) {
            case GpuRequest.None _, GpuRequest.With _ -> 0;
            case GpuRequest.All _ -> Math.max(1, wanted.size());
            case GpuRequest.Count(int count, _) -> count;
            case GpuRequest.Devices(List<String> ids) -> ids.size();
        };
    }

    /** What the GPUs of a request count as. */
    Quota.Amount counted(GpuRequest request) {
        if (request instanceof GpuRequest.Count count) {
            return Quota.Amount.of(count, traits.count(count, gpus));
        }
        List<Gpu> wanted = wanted(request);
        double count =
                wanted.isEmpty()
                        ? needed(request, wanted)
                        : wanted.stream().mapToDouble(Gpu::count).sum();
        return new Quota.Amount(count, 0);
    }

    private boolean isToBeHad(Gpu gpu, Ticket ticket) {
        return usable.contains(gpu)
                && gpu.hasUuid()
                && !isUsed(gpu, ticket.request())
                && !isOwn(gpu, ticket);
    }

    private boolean isUsed(Gpu gpu, GpuRequest request) {
        boolean taken = unmanaged.allowed() && request instanceof GpuRequest.Devices;
        return !taken && !unmanaged.of(gpu).isEmpty();
    }

    /** A Mesos task does not end another; its agent has ended that, or would not offer the GPU. */
    private boolean isOwn(Gpu gpu, Ticket ticket) {
        List<Lease> own =
                holdings.holders(gpu).stream()
                        .filter(lease -> lease.claim().owner().uid() == ticket.owner().uid())
                        .filter(lease ->
                                !(lease.claim().origin().isScheduled() && ticket.isScheduled()))
                        .toList();
        List<Share> shares =
                own.stream().flatMap(lease -> lease.share(gpu.uuid()).stream()).toList();
        return ticket.request() instanceof GpuRequest.Count(_, GpuFilter filter)
                        && filter.share().isPresent()
                        && shares.size() == own.size()
                ? traits.shareLimit(gpu) - Share.sum(shares) < filter.share().get().bytes()
                : !own.isEmpty();
    }

    /** The obstacles of a client that cannot be served. */
    List<Obstacle> obstacles(Ticket ticket) {
        List<Gpu> wanted = wanted(ticket.request());
        Owner owner = ticket.owner();
        Optional<Quota.Excess> excess = quota.excess(owner, counted(ticket.request()));
        if (excess.isPresent()) {
            return List.of(new Obstacle.OverQuota(excess.get()));
        }
        List<Obstacle> obstacles = new ArrayList<>();
        List<Gpu> own = some(wanted, gpu -> isOwn(gpu, ticket));
        if (!own.isEmpty()) {
            obstacles.add(new Obstacle.Own(owner, claimed(own), leases(own)));
        }
        List<Gpu> used = some(wanted, gpu -> isUsed(gpu, ticket.request()) && !isOwn(gpu, ticket));
        if (!used.isEmpty()) {
            obstacles.add(new Obstacle.Used(claimed(used), unmanaged));
        }
        for (Gpu gpu : ticket.request() instanceof GpuRequest.All ? gpus : wanted) {
            if (!gpu.isSound()) {
                obstacles.add(new Obstacle.Sick(gpu));
            } else if (cordons.of(gpu).isPresent()) {
                obstacles.add(new Obstacle.Cordoned(gpu, cordons.of(gpu).get()));
            } else if (!gpu.hasUuid()) {
                obstacles.add(new Obstacle.Nameless(gpu));
            }
        }
        if (ticket.request() instanceof GpuRequest.Devices(List<String> ids) && wanted.isEmpty()) {
            obstacles.add(new Obstacle.Missing(ids));
        }
        if (ticket.request() instanceof GpuRequest.Count count && count.gpus() > wanted.size()) {
            obstacles.add(tooFew(count, wanted.size()));
        }
        return obstacles;
    }

    private Obstacle tooFew(GpuRequest.Count requested, int matching) {
        List<Gpu> unclear = traits.unclear(requested.filter(), gpus);
        return unclear.isEmpty()
                ? new Obstacle.TooFew(requested, matching)
                : new Obstacle.Unclear(unclear);
    }

    private static List<Gpu> some(List<Gpu> gpus, Predicate<Gpu> which) {
        return gpus.stream().filter(which).toList();
    }

    private static List<ClaimedGpu> claimed(List<Gpu> gpus) {
        return gpus.stream().map(ClaimedGpu::of).toList();
    }

    private List<Lease> leases(List<Gpu> held) {
        return held.stream().flatMap(gpu -> holdings.holders(gpu).stream()).distinct().toList();
    }
}
