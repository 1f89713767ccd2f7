package jnvdocker.core;

import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.host.Gpu;
import jnvdocker.lease.Claim;
import jnvdocker.lease.ClaimNames;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Origin;
import jnvdocker.lease.Owner;
import jnvdocker.lease.Request;
import jnvdocker.lease.Ticket;
import jnvdocker.registry.LeaseRegistry;
import jnvdocker.request.GpuRequest;
import jnvdocker.request.MemorySize;

import java.io.IOException;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;

/** The messages that a refusal must have, and that there really are not enough GPUs. */
final class RefusalCheck {
    /**
     * The time after a daemon's start in which GPUs may be kept for clients that have sent it no
     * request.
     */
    private static final Duration RETURN = Duration.ofSeconds(20);

    private static final String GPUS =
            "(GPU [0-2] \\(GPU-[0-9]{8}\\) is|GPUs [0-2]([-,][0-2])+ are) ";
    private static final String HELD =
            "((held|reserved) by (user[0-2]|uid [0-9]+|somebody)'s container"
                    + "|(held|reserved) by (pod team-a/p[0-9]+|a pod)"
                    + "|reserved by user[0-2]'s docker run \\(pid).* since ";
    private static final String KEPT =
            "(booked for user[0-2] (from .* )?until .*|kept for (user[0-2] \\(pid [0-9]+\\),"
                + " waiting for .* since |(user[0-2]|uid [0-9]+|somebody) until .*, since container"
                + " .* has stopped))";
    private static final String USED =
            "used by .*, which (jnvdocker did not start|has no lease on it)";
    private static final String SHARERS =
            "shared by (user[0-2]|uid [0-9]+)'s .* and ((user[0-2]|uid [0-9]+)'s .*|[0-9]+ others)";
    private static final String TAKEN =
            ".*" + GPUS + "(" + HELD + "|" + SHARERS + "|" + KEPT + "|" + USED + ").*";
    private static final String REQUESTED = "([0-9]+G of (each of )?)?[1-3] GPUs? requested, but ";
    private static final String SHARED =
            "(no shareable GPU has [0-9]+G left|"
                    + REQUESTED
                    + "(no shareable GPU|only GPU [0-2]) has that left) \\(GPU [0-2]: .*\\)"
                    + "(, which has ended, but .*)?";
    private static final String CORDONED =
            "is cordoned (by root since .* \\(fan\\)|in the configuration)";
    private static final String KEY = " \\(limits\\.([0-9]+|\\*)\\.gpus\\)";

    /** One user has a limit of its own, by uid. */
    private static final String USERS = "(each user|" + SimulatedLab.LIMITED + ") may have";

    private static final String EACH = USERS + " [1-3] at a time" + KEY;
    private static final String MINE =
            "(user[0-2]|uid [0-9]+|somebody) has [0-9.]+ of the [1-3] GPUs? that "
                    + USERS
                    + KEY
                    + ": .* holds ([0-9]+G of )?GPUs? [0-2].*";

    private static final String LATER =
            "; start it again later, (or )?wait with 'jnvdocker run --gpu-wait'.*";
    private static final String ITSELF =
            GPUS
                    + "(held|reserved) by user[0-2]'s container [0-9]+( \\(share of [^)]*\\))?"
                    + " since .*, which is this very container(: a process of its last start runs"
                    + " \\(pid [0-9]+\\))?; end that first, then start the container again";

    private static final String MAX_WAIT = "\\(limits\\.\\*\\.max_wait\\)";

    private final SimulatedWorld world;

    RefusalCheck(SimulatedWorld world) {
        this.world = world;
    }

    /**
     * Checks the refusal of a client that does not wait.
     *
     * @param alone whether nothing can have been given back since the choice was made
     */
    void client(Request request, String message, boolean alone) throws IOException {
        assertTrue(
                !alone || !isToBeHad(request, registry().holdings().held()),
                () -> "refused though it is free: " + message);
        boolean taken =
                message.matches(TAKEN + "; wait with --gpu-wait.*")
                        || message.matches(SHARED + "; wait with --gpu-wait, or request less")
                        || isBeside(request, message);
        boolean mine = message.matches(MINE + "; wait with --gpu-wait.*");
        assertTrue(
                isForEver(message)
                        || isOfLimits(request, message)
                        || (isOfQuota(message) ? mine : taken),
                message);
    }

    /** A refusal for what a user may not have now, or not for so long. */
    private boolean isOfLimits(Request request, String message) {
        if (message.matches(".*has used the 0 GPU-hours that .* has in a (day|week) .*")) {
            assertTrue(
                    world.lab.limits.mayBeSpent(request.requested().owner()),
                    () ->
                            "refused though hours are left: %s; %s has had %s"
                                    .formatted(
                                            message,
                                            request.requested().owner(),
                                            world.lab.limits.leases(request.requested().owner())));
            return true;
        }
        if (message.matches(".* requested, but each user may hold GPUs for .*s at most .*")) {
            assertTrue(
                    !world.lab.limits.allows(request.requested().time()),
                    () -> request + ": " + message);
            return true;
        }
        return message.matches(
                ".* GPUs? requested, but "
                        + SimulatedLab.LIMITED
                        + " may have only GPUs? .*; request these, or contact an administrator");
    }

    /**
     * Checks the refusal of a container that our OCI runtime is to create.
     *
     * @param alone whether nothing can have been given back since the choice was made
     */
    void creation(Request request, String container, String message, boolean alone)
            throws IOException {
        if (message.contains("this very container")) {
            assertTrue(
                    !alone || world.runtime.hasOthers(container),
                    () -> "nothing of it: " + message);
            assertTrue(message.matches(ITSELF), message);
            return;
        }
        Map<String, List<Lease>> others =
                registry()
                        .holdings()
                        .without(it ->
                                it.claim()
                                        .container()
                                        .filter(of -> of.id().equals(container))
                                        .isPresent())
                        .held();
        assertTrue(
                !alone || !isToBeHad(request, others),
                () -> "refused though it is free: " + message);
        boolean taken =
                message.matches(TAKEN + LATER)
                        || message.matches(SHARED + LATER)
                        || isBeside(request, message);
        boolean mine = message.matches(MINE + LATER);
        assertTrue(
                isForEver(message)
                        || isOfLimits(request, message)
                        || (isOfQuota(message) ? mine : taken),
                message);
    }

    /**
     * Checks the refusal of a client that waits.
     *
     * @param overdue whether it may have waited as long as it wants to
     */
    void waiter(Request request, String message, boolean overdue) {
        boolean inVain =
                overdue
                        && message.matches(
                                "gave up after [0-9]+s(: .*; wait longer| "
                                        + MAX_WAIT
                                        + ": .*; wait again) with --gpu-wait");
        boolean tooLong =
                message.matches(
                        "nobody may wait for GPUs longer than [0-9]+s "
                                + MAX_WAIT
                                + "; give --gpu-wait a shorter time, or none");
        assertTrue(
                isForEver(message) || isOfLimits(request, message) || inVain || tooLong,
                () -> request + ": " + message);
    }

    /** Checks a refusal that docker's user sees. */
    void mount(String volume, String message) throws IOException {
        if (message.contains("cordon")) {
            String cordoned =
                    GPUS
                            + CORDONED.substring("is ".length())
                            + "; start this container again when the cordon is lifted.*";
            assertTrue(message.matches(cordoned), message);
            assertTrue(
                    claim(volume).gpus().stream().anyMatch(gpu -> world.lab.isCordoned(gpu.uuid())),
                    () -> "refused though none is cordoned: " + message);
        }
        if (isOfQuota(message)) {
            String mine = MINE + "; stop one of them, then start this container again.*";
            String never =
                    "this container has [1-3] GPUs, and "
                            + EACH
                            + "; remove the container and run it again with --gpus \\d";
            assertTrue(message.matches(mine) || message.matches(never), message);
            Claim claim = claim(volume);
            double has = world.lab.heldBy(claim.owner(), registry().holdings().held());
            assertTrue(
                    has + claim.gpus().size() * SimulatedLab.part(claim.share())
                            > world.lab.quota(claim.owner()),
                    () -> "refused though it may have more: " + message);
        }
    }

    private static boolean isOfQuota(String message) {
        return message.matches(".* (at a time|may have) \\(.*");
    }

    private Claim claim(String volume) throws IOException {
        return registry().claims().claim(ClaimNames.ofVolume(volume).orElseThrow()).orElseThrow();
    }

    private LeaseRegistry registry() {
        return world.daemon.parts().registry();
    }

    private static boolean isForEver(String message) {
        return message.matches(
                        "invalid device: .*|.* GPUs? requested, but (this host has|.* in service:)"
                                + " .*|[0-9]+G of .* requested, but none may be shared .*")
                || message.matches("the reservation of claim \\S+ was ended before .*; try again")
                || message.matches("(GPU|of GPU) .* (has|some have) just disappeared; .*")
                || message.matches(GPUS + CORDONED.substring(3) + "; .*")
                || message.matches("[1-3] GPUs requested, but " + EACH + "; request fewer");
    }

    /** A refusal of GPUs that another holds. */
    private static boolean isBeside(Request request, String message) {
        return request.requested().request() instanceof GpuRequest.With with
                && (message.matches(TAKEN + "; start it again when that is over")
                        || message.matches(
                                "--gpus " + with + ": no container or process of that name .*")
                        || message.matches(
                                "--gpus " + with + ": " + GPUS + HELD + ".*, and cannot be .*"));
    }

    /**
     * The clients for whom GPUs may be kept from a user who does not wait, including one that is
     * sending its request.
     */
    private List<Ticket> queue(Owner owner) throws IOException {
        boolean young = world.daemon.age().compareTo(RETURN) < 0;
        return registry().tickets().stream()
                .filter(it -> world.machine.lives(it.request().client()))
                .filter(it ->
                        young
                                || it.request().origin() instanceof Origin.Pod
                                || world.waiters.isConnected(it.request().client()))
                .filter(it -> it.priority() >= world.lab.rank(owner))
                .sorted(Ticket.ORDER)
                .toList();
    }

    /** The UUIDs of GPUs that are kept for waiting clients, if these cannot be given others. */
    Set<String> kept(Set<String> gpus) throws IOException {
        List<Gpu> all = world.gpus();
        Set<String> seen = new HashSet<>(world.uses.used());
        Set<String> kept =
                new ModelQueue(
                                world.lab,
                                all,
                                registry().holdings().held(),
                                seen,
                                world.lab.limits::mayBeSpent,
                                world.lab::setAside)
                        .kept(
                                registry().tickets().stream()
                                        .filter(it ->
                                                world.waiters.isWaiting(it.request().client()))
                                        .filter(it ->
                                                !world.waiters.isOverdue(it.request().client()))
                                        .sorted(Ticket.ORDER)
                                        .toList(),
                                gpu -> !gpus.contains(gpu));
        kept.retainAll(gpus);
        return kept;
    }

    /** Checks that a client that still waits cannot be served now. */
    void stillWaiting(Request request) throws IOException {
        List<Ticket> before =
                registry().tickets().stream()
                        .sorted(Ticket.ORDER)
                        .takeWhile(it -> !it.request().client().equals(request.client()))
                        .toList();
        Map<String, List<Lease>> held = registry().holdings().held();
        assertTrue(
                !isToBeHad(request, held, before),
                () -> "waits though it could be served: " + request);
    }

    /**
     * @param held by others, by the UUIDs of GPUs
     */
    private boolean isToBeHad(Request request, Map<String, List<Lease>> held) throws IOException {
        return isToBeHad(request, held, queue(request.requested().owner()));
    }

    /**
     * @param before the clients for whom GPUs may be kept, in order
     */
    private boolean isToBeHad(Request request, Map<String, List<Lease>> held, List<Ticket> before)
            throws IOException {
        Optional<MemorySize> share = SimulatedLab.share(request.requested().request());
        if (world.lab.limits.mayBeSpent(request.requested().owner())
                || !world.lab.limits.allows(request.requested().time())) {
            return false;
        }
        Set<String> taken = new HashSet<>();
        held.forEach((gpu, leases) -> {
            if (!world.lab.hasRoom(gpu, leases, share)) {
                taken.add(gpu);
            }
        });
        boolean named = request.requested().request() instanceof GpuRequest.Devices;
        if (!named || !world.lab.policy().allowUnmanaged()) {
            taken.addAll(world.uses.used());
        }
        List<Gpu> all = world.gpus();
        List<Gpu> gpus = world.lab.allowed(request.requested().owner(), all);
        Set<String> seen = new HashSet<>();
        world.uses.known().forEach(use -> seen.add(use.gpu()));
        Set<String> wished = world.lab.wanted(request.requested().request(), gpus);
        gpus.stream()
                .map(Gpu::uuid)
                .filter(gpu ->
                        world.lab.isKeptFrom(
                                request.requested().owner(), gpu, request.requested().time()))
                .forEach(taken::add);
        Set<String> open = Set.copyOf(taken);
        // The hours of those who wait were learnt a while ago.
        Predicate<Owner> spent = owner -> world.lab.limits.wasSpent(owner, registry().now());
        for (Predicate<Owner> each : List.<Predicate<Owner>>of(spent, _ -> false)) {
            taken.addAll(
                    new ModelQueue(world.lab, all, held, seen, each, world.lab::setAside)
                            .kept(before, gpu -> wished.contains(gpu) && !open.contains(gpu)));
        }
        List<String> usable =
                gpus.stream().map(Gpu::uuid).filter(gpu -> !world.lab.isCordoned(gpu)).toList();
        List<String> free = usable.stream().filter(gpu -> !taken.contains(gpu)).toList();
        boolean enough =
                switch (request.requested().request()) {
                    case GpuRequest.All _ -> free.size() == usable.size() && !free.isEmpty();
                    case GpuRequest.Count(int count, _) ->
                            free.stream().filter(wished::contains).count() >= count;
                    case GpuRequest.Devices(List<String> ids) -> {
                        Set<String> wanted = world.lab.wanted(request.requested().request(), gpus);
                        yield wanted.size() == ids.size() && free.containsAll(wanted);
                    }
                    case GpuRequest.None _ -> true;
                    // It depends on another holder, and on no free GPU.
                    case GpuRequest.With _ -> false;
                };
        double has = world.lab.heldBy(request.requested().owner(), held);
        return enough
                && has + world.lab.counted(request.requested().request(), gpus)
                        <= world.lab.quota(request.requested().owner());
    }
}
