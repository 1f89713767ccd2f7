package jnvdocker.claim;

import jnvdocker.decision.DecisionLog;
import jnvdocker.decision.RefusalReason;
import jnvdocker.holder.ClaimUsers;
import jnvdocker.keeper.ClaimRemover;
import jnvdocker.keeper.Keeper;
import jnvdocker.lease.Claim;
import jnvdocker.lease.ClaimKey;
import jnvdocker.lease.ClaimNames;
import jnvdocker.lease.ClaimedGpu;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Owner;
import jnvdocker.lease.text.LeaseText;
import jnvdocker.posix.FileErrors;
import jnvdocker.posix.ProcessId;
import jnvdocker.registry.ClaimFiles;
import jnvdocker.registry.LeaseRegistry;
import jnvdocker.supply.Supply;
import jnvdocker.volume.plugin.PluginVolumes;
import jnvdocker.volume.plugin.VolumeInfo;
import jnvdocker.words.Quote;
import jnvdocker.words.Refusal;
import jnvdocker.words.RefusedException;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;

/**
 * The volumes {@code jnvdocker_claim_<id>}. dockerd mounts one at every start of its container, by
 * any client, and does not start a container with a volume that it cannot mount: here a lease is
 * taken, or refused.
 */
public final class ClaimVolumes implements PluginVolumes {
    private static final String MAKE_AGAIN =
            "'jnvdocker run' makes claims, create the container again with it";

    private static final Logger LOG = LoggerFactory.getLogger(ClaimVolumes.class);

    private final LeaseRegistry registry;
    private final ClaimFiles files;
    private final ClaimRemover remover;
    private final ClaimStarts starts;
    private final ClaimUsers users;
    private final Keeper keeper;
    private final Supply supply;
    private final RefusedStarts refusedStarts;
    private final DecisionLog log;

    public ClaimVolumes(
            LeaseRegistry registry,
            ClaimFiles files,
            ClaimRemover remover,
            ClaimStarts starts,
            ClaimUsers users,
            Keeper keeper,
            Supply supply,
            RefusedStarts refusedStarts,
            DecisionLog log) {
        this.registry = registry;
        this.files = files;
        this.remover = remover;
        this.starts = starts;
        this.users = users;
        this.keeper = keeper;
        this.supply = supply;
        this.refusedStarts = refusedStarts;
        this.log = log;
    }

    @Override
    public boolean owns(String name) {
        return ClaimNames.ofVolume(name).isPresent();
    }

    @Override
    public void create(String name, Map<String, String> options)
            throws RefusedException, IOException {
        ClaimKey key = key(name);
        if (registry.claims().created(key)) {
            return;
        }
        if (!registry.claims().madeAgain(key)) {
            throw unknown(name);
        }
        files.write(claim(key));
    }

    @Override
    public void remove(String name) throws RefusedException, IOException {
        ClaimKey key = key(name);
        String id = key.id();
        Optional<Claim> claim = registry.claims().claim(id);
        if (claim.filter(it -> !it.key().equals(key)).isPresent()) {
            throw unknown(name);
        }
        Optional<Lease> lease = registry.liveOf(id);
        if (lease.isPresent()) {
            keeper.end(List.of(lease.get()), Keeper.Caller.VERB);
            if (registry.liveOf(id).isPresent()) {
                throw new RefusedException(
                        name + " " + LeaseText.held(lease.get()),
                        "stop it first (jnvdocker gpu leases)");
            }
        }
        if (!remover.remove(id)) {
            throw new RefusedException(
                    name
                            + " is not removed: "
                            + remover.mounted().getOrDefault(id, "a process has it mounted"),
                    "stop that process first");
        }
    }

    @Override
    public Path mount(String name, String use, ProcessId caller)
            throws RefusedException, IOException {
        ClaimKey key = key(name);
        try {
            return mountClaim(key, use, caller);
        } catch (RefusedException e) {
            note(key, e.refusal());
            throw e;
        } catch (IOException e) {
            note(key, FileErrors.refusal(e));
            throw e;
        }
    }

    private void note(ClaimKey key, Refusal why) {
        Optional<Claim> claim;
        try {
            claim = registry.claims().claim(key.id());
        } catch (IOException e) {
            claim = Optional.empty();
        }
        if (claim.filter(it -> !it.key().equals(key)).isPresent()) {
            claim = Optional.empty();
        } else {
            refusedStarts.refused(key, why);
        }
        log.refused(
                claim.map(Claim::owner).orElse(Owner.UNKNOWN),
                claim.map(LeaseText::container).orElse("claim " + key.id()),
                why,
                RefusalReason.START);
    }

    private Path mountClaim(ClaimKey key, String use, ProcessId caller)
            throws RefusedException, IOException {
        String id = key.id();
        Claim claim = claim(key);
        if (starts.isOfGuest(claim)) {
            return files.nothing();
        }
        if (claim.container().isEmpty() && registry.claims().isOver(id)) {
            users.refuseAnothers(claim, hasPartner(claim));
        }
        ClaimedNodes.refuseOthers(claim, supply.gpus());
        Optional<Lease> taken = starts.take(claim, use, caller);
        if (taken.isEmpty()) {
            return files.nothing();
        }
        keeper.mounted(taken.get());
        try {
            files.write(taken.get());
        } catch (IOException e) {
            if (!files.hasLease(id)) {
                // Docker does not take back what it was refused.
                registry.unmounted(id, use);
                keeper.recheck(id);
                throw e;
            }
            LOG.warn(
                    "claim {}: its container sees the lease.json of before: {}",
                    id,
                    FileErrors.describe(e));
        }
        return files.mounted(id);
    }

    /** Whether another container or program of its party has the GPUs of a claim. */
    private boolean hasPartner(Claim claim) throws IOException {
        return registry.live().stream()
                .map(Lease::claim)
                .anyMatch(it -> it.isBeside(claim) && !it.id().equals(claim.id()));
    }

    @Override
    public void unmount(String name, String use) throws RefusedException, IOException {
        String id = key(name).id();
        try {
            registry.unmounted(id, use);
        } finally {
            keeper.unmounted(id);
        }
    }

    @Override
    public VolumeInfo get(String name) throws RefusedException, IOException {
        ClaimKey key = key(name);
        String id = key.id();
        Optional<Claim> claim = registry.claims().claim(key);
        if (claim.isPresent() && registry.claims().hasVolume(id)) {
            return info(claim.get(), registry.liveOf(id));
        }
        throw unknown(name);
    }

    @Override
    public List<VolumeInfo> list() {
        try {
            Map<String, Lease> live = registry.liveByClaim();
            List<VolumeInfo> all = new ArrayList<>();
            for (Claim claim : registry.claims().withVolume()) {
                all.add(info(claim, Optional.ofNullable(live.get(claim.id()))));
            }
            return all;
        } catch (IOException e) {
            // An Err would hide the volumes of every other plugin from 'docker volume ls' as well.
            LOG.error("cannot list the claims: {}", FileErrors.describe(e));
            return List.of();
        }
    }

    private Claim claim(ClaimKey key) throws IOException, RefusedException {
        return registry.claims().claim(key).orElseThrow(() -> unknown(ClaimNames.volume(key)));
    }

    private static RefusedException unknown(String name) {
        return new RefusedException("no such claim: " + name, MAKE_AGAIN);
    }

    private VolumeInfo info(Claim claim, Optional<Lease> live) {
        Map<String, Object> status = new LinkedHashMap<>();
        status.put("gpus", gpus(claim));
        live.ifPresent(lease -> {
            status.put("holder", LeaseText.holder(lease));
            status.put("since", lease.since().toString());
        });
        return new VolumeInfo(ClaimNames.volume(claim.key()), files.mounted(claim.id()), status);
    }

    private static String gpus(Claim claim) {
        return claim.gpus().stream().map(ClaimedGpu::uuid).collect(Collectors.joining(","));
    }

    private static ClaimKey key(String name) throws RefusedException {
        return ClaimNames.ofVolume(name)
                .orElseThrow(() ->
                        new RefusedException(
                                Quote.quoted(name) + " is not the name of a claim's volume",
                                MAKE_AGAIN));
    }
}
