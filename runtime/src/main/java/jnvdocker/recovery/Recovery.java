package jnvdocker.recovery;

import jnvdocker.holder.ClaimMounts;
import jnvdocker.holder.Evidence;
import jnvdocker.holder.HolderKind;
import jnvdocker.holder.Life;
import jnvdocker.holder.ProgramGroup;
import jnvdocker.holder.Unleased;
import jnvdocker.host.Gpu;
import jnvdocker.keeper.Keeper;
import jnvdocker.lease.Claim;
import jnvdocker.lease.ClaimedGpu;
import jnvdocker.lease.Holder;
import jnvdocker.lease.Lease;
import jnvdocker.lease.text.HoldersText;
import jnvdocker.posix.FileErrors;
import jnvdocker.posix.ProcessId;
import jnvdocker.registry.ClaimFiles;
import jnvdocker.registry.LeaseRegistry;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;

/**
 * Gives every holder that runs without a lease its lease back. The registry may be new, older than
 * what runs, or without its last changes; nothing has to know which, since every start compares it
 * with the claims' files and with what runs. What runs counts: a lease by which another holder has
 * the GPU, and of which nothing runs, is of an older registry or was given by mistake.
 */
final class Recovery {
    private static final Logger LOG = LoggerFactory.getLogger(Recovery.class);

    private final LeaseRegistry registry;
    private final ClaimFiles files;
    private final Evidence evidence;
    private final Unleased unleased;
    private final Keeper keeper;

    /** The claims on disk, from the start until the mounts could be read. */
    private volatile Optional<Map<String, Claim>> unmet = Optional.empty();

    Recovery(
            LeaseRegistry registry,
            ClaimFiles files,
            Evidence evidence,
            Unleased unleased,
            Keeper keeper) {
        this.registry = registry;
        this.files = files;
        this.evidence = evidence;
        this.unleased = unleased;
        this.keeper = keeper;
    }

    /**
     * Restores the claims of docker's volumes, and gives all that runs its leases, before anything
     * is served. {@link #adoptStrays} follows.
     */
    void start() throws IOException {
        Map<String, Claim> written = new HashMap<>();
        Set<String> over = new HashSet<>();
        for (String id : files.ids()) {
            Optional<Claim> claim = files.read(id);
            claim.ifPresent(it -> written.put(id, it));
            if (claim.filter(it -> it.origin().isKnownToDocker()).isPresent()) {
                restoreVolume(claim.get());
            } else if (registry.liveOf(id).isEmpty() && (claim.isPresent() || wasRemoved(id))) {
                over.add(id);
            }
        }
        adoptGroups(written);
        deleteUnused(over);
        unmet = Optional.of(written);
        try {
            adoptMounted();
        } catch (UncheckedIOException e) {
            LOG.warn("running containers are met later: {}", FileErrors.describe(e.getCause()));
            // As soon as mounts can be read, those that run use their GPUs.
            for (String id : files.ids()) {
                if (registry.liveOf(id).isEmpty()) {
                    unleased.add(id, Optional.empty());
                }
            }
        }
    }

    /**
     * The claim of a volume that docker may mount again. A reservation has none before its client
     * has become docker.
     */
    private void restoreVolume(Claim claim) throws IOException {
        boolean reserved = registry.liveOf(claim.id()).filter(Lease::isOfClient).isPresent();
        if (!reserved && !registry.claims().hasVolume(claim.id())) {
            restore(claim);
        }
    }

    private void restore(Claim claim) throws IOException {
        if (registry.claims().restore(claim, claim.origin().isKnownToDocker())) {
            LOG.warn("claim {} was lost, and is known again", claim.id());
        }
    }

    /** Whether a daemon was killed before it had deleted the directory. */
    private boolean wasRemoved(String id) throws IOException {
        return registry.claims().claim(id).isEmpty() && registry.claims().knew(id);
    }

    /**
     * Deletes the directories of claims that are over, unless they are mounted. Before the mounts
     * are read that count: a container that is just being created has mounted its own by then, or
     * cannot any more.
     */
    private void deleteUnused(Set<String> over) throws IOException {
        Set<String> mounted;
        try {
            ClaimMounts.Seen seen = evidence.mountedClaims();
            if (!seen.complete()) {
                LOG.warn(
                        "cannot determine which claims are mounted: a process has too many mounts");
                return;
            }
            mounted = seen.ours().keySet();
        } catch (UncheckedIOException e) {
            LOG.warn(
                    "cannot determine which claims are mounted: {}",
                    FileErrors.describe(e.getCause()));
            return;
        }
        for (String id : over) {
            if (!mounted.contains(id) && registry.liveOf(id).isEmpty()) {
                files.delete(id);
            }
        }
    }

    /**
     * The programs of {@code gpu run} of which the registry has no record: each has a cgroup that
     * is named after its claim, and the claim is an attribute of it, too.
     */
    private void adoptGroups(Map<String, Claim> written) throws IOException {
        Map<String, Lease> live = registry.liveByClaim();
        for (Map.Entry<String, Holder> group : evidence.groups().entrySet()) {
            String id = group.getKey();
            Holder holder = group.getValue();
            String directory = holder.cgroup().orElse("");
            if (registry.claims().knew(id)) {
                continue;
            }
            Optional<Claim> claim = Optional.ofNullable(written.get(id));
            if (claim.isEmpty() && !ProgramGroup.isAnothers(directory, files)) {
                claim = ProgramGroup.recorded(id, directory, files);
                if (claim.isEmpty()) {
                    LOG.error(
                            "pid {} runs with unknown GPUs of 'gpu run': none is given out;"
                                    + " end what runs in {}",
                            holder.process().pid(),
                            directory);
                    unleased.add(id, holder.cgroup());
                }
            }
            if (claim.flatMap(it -> it.origin().hostProgram()).isPresent()) {
                adopt(claim.get(), holder, live);
            }
        }
    }

    /** The claim of a directory that is mounted, and of which the registry has no claim. */
    private Optional<Claim> lost(String id, Map<String, Claim> written) throws IOException {
        if (written.containsKey(id)) {
            return Optional.of(written.get(id));
        }
        if (!registry.claims().revive(id)) {
            LOG.error("claim {} is mounted, but its GPUs are unknown", id);
            unleased.add(id, Optional.empty());
        }
        return registry.claims().claim(id);
    }

    /** Finds claims that the registry has lost. */
    @FunctionalInterface
    private interface Lost {
        Optional<Claim> claim(String id) throws IOException;
    }

    /**
     * The holders of claims that are mounted: of those that the registry knows, and once after the
     * start also of those that it has lost.
     */
    void adoptMounted() throws IOException {
        Optional<Map<String, Claim>> written = unmet;
        adoptMounted(id -> written.isPresent() ? lost(id, written.get()) : Optional.empty());
        unmet = Optional.empty();
    }

    /**
     * A process with a claim mounted holds its GPUs, whatever we or the engine know of it. Where a
     * container of our OCI runtime has its lease, {@link jnvdocker.oci.lease.OciKeeper} learns of
     * its first process: another container may have mounted the same directory.
     */
    private void adoptMounted(Lost lost) throws IOException {
        // Before the processes: those seen afterwards belong to these leases or to later ones.
        Map<String, Lease> live = registry.liveByClaim();
        for (Map.Entry<String, List<ProcessId>> running : evidence.containers().entrySet()) {
            String id = running.getKey();
            Optional<Claim> known = registry.claims().claim(id);
            Optional<Claim> claim = known.isPresent() ? known : lost.claim(id);
            Optional<Lease> lease = Optional.ofNullable(live.get(id));
            boolean docker = claim.filter(it -> it.origin().isKnownToDocker()).isPresent();
            if (claim.isPresent() && (docker || lease.isEmpty())) {
                ProcessId process = evidence.itsOwn(claim.get(), running.getValue());
                Optional<String> cgroup =
                        claim.get().container().flatMap(its -> evidence.cgroup(process, its.id()));
                // The engine itself may have it mounted for a moment, while it copies files.
                Optional<ProcessId> init = docker ? cgroup.map(_ -> process) : Optional.of(process);
                runs(claim.get(), lease, Holder.of(process, init, cgroup), live);
            }
        }
    }

    /** A claim's holder runs. */
    void runs(Claim claim, Optional<Lease> lease, Holder holder, Map<String, Lease> before)
            throws IOException {
        if (lease.isEmpty()) {
            adopt(claim, holder, before);
        } else if (lease.get().isOfClient()) {
            registry.decide(leases -> leases.hold(lease.get(), holder));
        } else if (holder.init().isPresent()
                && !holder.init().equals(lease.get().holder().init())) {
            // The engine that has mounted it stays: by it a start that is under way is known. A
            // change since the lease was seen is newer than this.
            Holder started = lease.get().holder().startedAs(holder.init().get(), holder.cgroup());
            registry.decide(leases -> leases.hold(lease.get(), started));
        }
    }

    /**
     * @param before the live leases by their claims, read before it was seen that this one runs
     */
    private void adopt(Claim claim, Holder holder, Map<String, Lease> before) throws IOException {
        if (registry.claims().isReleased(claim.id(), holder.process())) {
            return;
        }
        restore(claim);
        makeWay(claim, before, _ -> true);
        List<Lease> others =
                registry.decide(leases -> {
                    if (leases.live(claim.id()).isPresent()) {
                        return List.of();
                    }
                    List<Lease> on = leases.liveOn(claim);
                    if (on.isEmpty()) {
                        leases.recover(claim, holder);
                    }
                    return on;
                });
        if (!others.isEmpty()) {
            unleased.add(
                    claim.id(), claim.origin().isMounted() ? Optional.empty() : holder.cgroup());
            LOG.error(
                    "{} runs without a lease, and {}; stop one of the two",
                    claim.displayName(),
                    HoldersText.held(claim.gpus(), others));
        }
    }

    /**
     * Gives leases to holders of which there is no claim, of those of their GPUs that nobody else
     * uses. A lease of the same kind may be the stray's own, or its neighbour's with the same
     * cgroup: it has ended before if its holder is gone.
     *
     * @param gpus of this host, all of which are known
     */
    void adoptStrays(List<Gpu> gpus) throws IOException {
        Map<String, Lease> before = registry.liveByClaim();
        for (HolderKind kind : evidence.kinds()) {
            for (HolderKind.Stray stray : kind.strays(gpus)) {
                Claim claim = claim(stray);
                makeWay(claim, before, other -> !evidence.kind(other).equals(kind));
                adopt(stray, claim);
            }
        }
    }

    private void adopt(HolderKind.Stray stray, Claim claim) throws IOException {
        registry.decide(leases -> {
            List<ClaimedGpu> free =
                    claim.gpus().stream()
                            .filter(gpu -> leases.holdings().of(gpu).isEmpty())
                            .filter(gpu -> !leases.wasReleased(stray.origin(), gpu.uuid()))
                            .toList();
            if (!free.isEmpty()) {
                leases.add(claim.of(free), Optional.empty());
                leases.recover(claim.of(free), stray.holder());
            }
            return null;
        });
    }

    private Claim claim(HolderKind.Stray stray) {
        return new Claim(
                registry.newKey(),
                stray.origin(),
                stray.origin().owner(),
                stray.gpus().stream().map(ClaimedGpu::of).toList(),
                registry.now(),
                stray.container());
    }

    /** A mount that the engine has to undo yet is of an older registry, too: it says nothing. */
    private boolean mayRun(Lease lease) {
        return !lease.isOfClient()
                && switch (evidence.of(lease)) {
                    case Life.Running _, Life.Unknown _ -> true;
                    case Life.Starting _, Life.Gone _ -> false;
                };
    }

    /** Ends the leases of others on its GPUs of which nothing runs, unless they began meanwhile. */
    private void makeWay(Claim claim, Map<String, Lease> before, Predicate<Lease> which)
            throws IOException {
        for (Lease other : registry.holdings().on(claim)) {
            Lease seen = before.get(other.claim().id());
            boolean same = seen != null && seen.id() == other.id();
            if (same && which.test(other) && !mayRun(other)) {
                keeper.endUnused(other, claim.displayName() + " runs with its GPU");
            }
        }
    }
}
