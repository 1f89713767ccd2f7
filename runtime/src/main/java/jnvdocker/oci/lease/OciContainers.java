package jnvdocker.oci.lease;

import jnvdocker.grant.Creation;
import jnvdocker.grant.FirstScan;
import jnvdocker.grant.Grant;
import jnvdocker.grant.Grants;
import jnvdocker.grant.Reservations;
import jnvdocker.holder.Evidence;
import jnvdocker.holder.Leftovers;
import jnvdocker.holder.Life;
import jnvdocker.holder.Pace;
import jnvdocker.holder.UnmanagedScan;
import jnvdocker.host.Gpu;
import jnvdocker.host.GpuTroubles;
import jnvdocker.lease.Claim;
import jnvdocker.lease.ClaimKey;
import jnvdocker.lease.ClaimedGpu;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Origin;
import jnvdocker.lease.Owner;
import jnvdocker.lease.text.HoldersText;
import jnvdocker.lease.text.LeaseText;
import jnvdocker.posix.ProcessId;
import jnvdocker.registry.ClaimFiles;
import jnvdocker.registry.ClaimStore;
import jnvdocker.registry.LeaseRegistry;
import jnvdocker.registry.SeenEnd;
import jnvdocker.request.GpuRequest;
import jnvdocker.words.Quote;
import jnvdocker.words.RefusedException;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * Leases of containers that our OCI runtime creates. Each start has a claim of its own, to the GPUs
 * that it was given. The engine waits meanwhile, and is not queried.
 */
public final class OciContainers {
    /**
     * For all waits of a creation together: nobody can stop or remove the container meanwhile, and
     * its engine does not answer queries about it.
     */
    public static final Duration LIMIT = Duration.ofSeconds(2);

    private static final Duration STEP = Duration.ofMillis(20);

    private final LeaseRegistry registry;
    private final ClaimFiles files;
    private final Evidence evidence;
    private final Leftovers leftovers;
    private final Grants grants;
    private final Reservations reservations;
    private final UnmanagedScan unmanagedScan;
    private final GpuTroubles troubles;
    private final Pace pace;

    /** The containers that are just being created. */
    private final Set<Container> underWay = new HashSet<>();

    public OciContainers(
            Grants grants,
            ClaimFiles files,
            Evidence evidence,
            Leftovers leftovers,
            GpuTroubles troubles) {
        this.grants = grants;
        registry = grants.parts().registry();
        reservations = grants.parts().reservations();
        unmanagedScan = grants.parts().unmanagedScan();
        pace = grants.parts().pace();
        this.files = files;
        this.evidence = evidence;
        this.leftovers = leftovers;
        this.troubles = troubles;
    }

    /**
     * A container, by what no other has.
     *
     * @param root the directory in which the real runtime keeps its containers
     */
    public record Container(String root, String id) {}

    /**
     * The request of a claim that a container names by its label; empty when another container has
     * it, or the label has another secret. A claim that has no container yet counts as that
     * container's while its client lives. What was requested for a container that was removed
     * counts for one that is made with the same label: programs that update containers remove them
     * and make them again.
     */
    public Optional<ClaimStore.Made> made(ClaimKey claim, Container container) throws IOException {
        Optional<ClaimStore.Made> made = registry.claims().made(claim);
        if (made.isEmpty() || made.get().isOf(container.id())) {
            return made;
        }
        Optional<Lease> lease = registry.liveOf(claim.id());
        boolean isTaken = lease.isPresent() && !evidence.isAlive(lease.get().holder().process());
        return made.filter(it -> it.container().isEmpty() && !isTaken);
    }

    /** Whether a claim has another container. */
    public boolean isAnothers(ClaimKey claim, Container container) throws IOException {
        return registry.claims()
                .made(claim)
                .filter(it -> it.container().isPresent() && !it.isOf(container.id()))
                .isPresent();
    }

    /** Whether a claim of that id is known, be it forgotten. */
    public boolean isKnown(ClaimKey claim) throws IOException {
        return registry.claims().knew(claim.id());
    }

    /** The owner of the lease that a container has, or had last. */
    public Optional<Owner> lastOwner(Container container) throws IOException {
        Optional<Lease> live = live(container);
        return (live.isPresent() ? live : past(container)).map(lease -> lease.claim().owner());
    }

    private Optional<Lease> past(Container container) throws IOException {
        return registry.history()
                .lastOf(
                        new Origin.OciContainer(container.root(), Optional.empty()),
                        container.id());
    }

    /** The container starts with what was requested by that claim, and has it from now on. */
    public void wanted(ClaimKey claim, Container container, String name) throws IOException {
        registry.requests().wanted(claim.id(), new Claim.ContainerRef(container.id(), name));
    }

    /**
     * Begins to scan the uses of the host's GPUs, for a creation that was requested before these
     * GPUs were read.
     */
    public FirstScan scan(List<Gpu> present) {
        List<Gpu> gpus = troubles.mark(present);
        return new FirstScan(
                gpus,
                grants.parts().keeper().forced(),
                pace.meanwhile(() -> {
                    try {
                        return unmanagedScan.scanWithoutEngine(gpus);
                    } catch (IOException e) {
                        throw new UncheckedIOException(e);
                    }
                }));
    }

    /**
     * Gives a container its GPUs, from now on until nothing of it lives. The same request again
     * gets the same GPUs.
     *
     * @param scan that was begun when its creation was requested
     * @return nothing for a request for no GPU
     * @throws RefusedException when they cannot be given; the message names their holders if others
     *     have them
     */
    public Grant<Lease> take(OciCreation creation, FirstScan scan)
            throws RefusedException, IOException {
        return take(creation, Optional.empty(), Optional.of(scan));
    }

    /**
     * Gives GPUs to a container when its first process exists already, in the cgroup that its last
     * start may have had as well.
     *
     * @param init its pid; the process has not begun with anything of the container's
     */
    public Grant<Lease> take(OciCreation creation, int init) throws RefusedException, IOException {
        return take(creation, evidence.process(init), Optional.empty());
    }

    private Grant<Lease> take(
            OciCreation creation, Optional<ProcessId> init, Optional<FirstScan> scan)
            throws RefusedException, IOException {
        return new Grant<>(claim(creation, init, scan), it -> reservations.cancel(it.claim()));
    }

    private Optional<Lease> claim(
            OciCreation creation, Optional<ProcessId> init, Optional<FirstScan> scan)
            throws RefusedException, IOException {
        long until = pace.nanos() + LIMIT.toNanos();
        begin(creation);
        try {
            Optional<Lease> last = live(creation.container());
            if (last.filter(lease -> lease.holder().process().equals(creation.request().client()))
                    .isPresent()) {
                return last;
            }
            Optional<SeenEnd> reserved =
                    last.isPresent() ? Optional.empty() : reservation(creation);
            if (reserved.isPresent()) {
                return make(creation, reserved, scan, until);
            }
            Optional<SeenEnd> before =
                    last.isPresent()
                            ? over(creation.container(), init, until)
                            : predecessor(creation);
            boolean hadAny = last.isPresent() || before.isPresent();
            // What it has of its last start may have ended since.
            return make(creation, before, hadAny ? Optional.empty() : scan, until);
        } finally {
            end(creation.container());
        }
    }

    /** Our runtime may repeat a request while the first one is being answered. */
    private void begin(OciCreation creation) throws RefusedException, IOException {
        long begun = System.nanoTime();
        synchronized (underWay) {
            while (!underWay.add(creation.container())) {
                long left = LIMIT.minusNanos(System.nanoTime() - begun).toMillis();
                if (left <= 0) {
                    throw new RefusedException(
                            "container "
                                    + Quote.shown(creation.name())
                                    + " is being created already",
                            "start it again later");
                }
                try {
                    underWay.wait(left);
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                    throw new IOException("the daemon is stopping", e);
                }
            }
        }
    }

    private void end(Container container) {
        synchronized (underWay) {
            underWay.remove(container);
            underWay.notifyAll();
        }
    }

    /** The lease that a container has. */
    public Optional<Lease> live(Container container) throws IOException {
        return registry.live().stream().filter(lease -> isOf(container, lease)).findFirst();
    }

    private static boolean isOf(Container container, Lease lease) {
        return lease.claim().isOfContainer(container.id())
                && lease.claim().origin().isBelow(container.root());
    }

    /**
     * The lease of a container's last start, once nothing of that runs any more; empty when it has
     * ended meanwhile.
     */
    private Optional<SeenEnd> over(Container container, Optional<ProcessId> next, long until)
            throws RefusedException, IOException {
        // It may end meanwhile, or become another as more is learnt of its processes.
        for (var now = live(container); now.isPresent(); now = live(container)) {
            Lease last = now.get();
            Life finding = evidence.of(last);
            if (finding instanceof Life.Gone(String why)) {
                return Optional.of(SeenEnd.gone(last, why));
            }
            if (next.filter(it -> evidence.isNext(it, last)).isPresent()) {
                return Optional.of(SeenEnd.gone(last, "its container is started again"));
            }
            if (pace.nanos() - until > 0) {
                throw new RefusedException(
                        HoldersText.held(last.claim().gpus(), List.of(last))
                                + ", which is this very container"
                                + (finding instanceof Life.Running(ProcessId process)
                                        ? ": a process of its last start runs (pid "
                                                + process.pid()
                                                + ")"
                                        : ""),
                        "end that first, then start the container again");
            }
            pace.sleep(STEP);
        }
        return Optional.empty();
    }

    /**
     * The lease of the same user's container that had this one's name, and of which nothing runs:
     * compose starts this one in its place. An engine has no two containers of one name.
     */
    private Optional<SeenEnd> predecessor(OciCreation creation) throws IOException {
        String root = creation.container().root();
        return predecessorOf(creation)
                .filter(lease -> lease.claim().origin().isBelow(root))
                .map(lease ->
                        SeenEnd.gone(
                                lease, Quote.shown(creation.name()) + " is started in its place"));
    }

    /** Whether a container needs no more than its predecessor's GPUs: see above. */
    public boolean hasPredecessor(OciCreation creation) throws IOException {
        int wanted = creation.gpus() instanceof GpuRequest.Count count ? count.gpus() : 0;
        Optional<Lease> last = predecessorOf(creation);
        return last.isPresent() && last.get().claim().gpus().size() >= wanted;
    }

    private Optional<Lease> predecessorOf(OciCreation creation) throws IOException {
        for (Lease lease : registry.live()) {
            Claim claim = lease.claim();
            if (claim.origin().runtimeRoot().isPresent()
                    && claim.owner().isSameAs(creation.request().requested().owner())
                    && claim.container()
                            .filter(it -> it.name().equals(creation.name()))
                            .filter(it -> !it.id().equals(creation.id()))
                            .isPresent()
                    && evidence.of(lease) instanceof Life.Gone
                    && leftovers.of(lease).isEmpty()) {
                return Optional.of(lease);
            }
        }
        return Optional.empty();
    }

    /**
     * The GPUs that a client has reserved are for a container that it is about to have started.
     *
     * @param id of the container
     */
    public void reserve(Claim claim, String id, String name) throws IOException {
        registry.claims().named(claim.id(), new Claim.ContainerRef(id, name));
    }

    /** The GPUs reserved for it become its own. */
    private Optional<SeenEnd> reservation(OciCreation creation) throws IOException {
        Optional<Lease> reserved =
                creation.reservation().isPresent()
                        ? registry.liveOf(creation.reservation().get())
                        : Optional.empty();
        if (reserved.isEmpty()) {
            // Before a start, nothing says in which root it will be.
            reserved = live(new Container("", creation.id())).filter(Lease::isOfClient);
        }
        return reserved.map(lease ->
                SeenEnd.gone(lease, "its container " + Quote.shown(creation.name()) + " starts"));
    }

    private Optional<Lease> make(
            OciCreation creation, Optional<SeenEnd> earlier, Optional<FirstScan> scan, long until)
            throws RefusedException, IOException {
        Container container = creation.container();
        Claim.ContainerRef ref = new Claim.ContainerRef(container.id(), creation.name());
        Optional<Lease> last = earlier.isPresent() ? earlier.map(SeenEnd::lease) : past(container);
        Optional<Lease> given =
                grants.take(creation.request(), new Creation(ref, earlier, had(last), scan, until));
        if (given.isEmpty()) {
            return given;
        }
        if (creation.reservation().isPresent()) {
            registry.claims().named(creation.reservation().get(), ref);
        }
        Lease lease = given.get();
        try {
            files.write(lease);
            refuseReleased(lease.claim());
        } catch (IOException | RefusedException e) {
            // Nothing else would delete the files of a claim that was forgotten meanwhile.
            reservations.cancel(lease.claim());
            throw e;
        }
        return given;
    }

    /**
     * @throws RefusedException when the lease that a claim was just given was released by force
     */
    private void refuseReleased(Claim claim) throws RefusedException, IOException {
        if (registry.liveOf(claim.id()).isEmpty()) {
            throw new RefusedException(
                    LeaseText.names(claim.gpus())
                            + (claim.gpus().size() == 1 ? " was" : " were")
                            + " released by force while the container was created",
                    "start it again");
        }
    }

    private static Set<String> had(Optional<Lease> last) {
        return last.stream()
                .flatMap(lease -> lease.claim().gpus().stream())
                .map(ClaimedGpu::uuid)
                .collect(Collectors.toSet());
    }

    /** The directory that is mounted in the container of a claim. */
    public Path directory(Claim claim) {
        return files.mounted(claim.id());
    }
}
