package jnvdocker.recovery;

import jnvdocker.holder.ClaimMounts;
import jnvdocker.holder.Evidence;
import jnvdocker.holder.Unleased;
import jnvdocker.lease.Claim;
import jnvdocker.posix.FileErrors;
import jnvdocker.registry.ClaimFiles;
import jnvdocker.registry.LeaseRegistry;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * Claims that the registry may have lost, before anything is served: those that have a directory,
 * and those that a process has mounted. A registry without a record of one of them is incomplete.
 */
final class LostClaims {
    private static final Logger LOG = LoggerFactory.getLogger(LostClaims.class);

    private final LeaseRegistry registry;
    private final ClaimFiles files;
    private final Evidence evidence;
    private final Unleased unleased;

    LostClaims(LeaseRegistry registry, ClaimFiles files, Evidence evidence, Unleased unleased) {
        this.registry = registry;
        this.files = files;
        this.evidence = evidence;
        this.unleased = unleased;
    }

    /**
     * Restores them as far as their files allow, and deletes directories that are no longer used.
     */
    void restore() throws IOException {
        Optional<Set<String>> mounted = mounted();
        List<String> directories = files.ids();
        Set<String> all = new HashSet<>(directories);
        mounted.ifPresent(all::addAll);
        for (String id : all) {
            if (!registry.claims().knew(id)) {
                LOG.warn("claim {} exists, but is not in the registry", id);
                registry.claims().unreconciled();
                break;
            }
        }
        boolean complete = registry.claims().isReconciled();
        List<Claim> deleted = new ArrayList<>();
        for (String id : all) {
            boolean used = mounted.filter(those -> !those.contains(id)).isEmpty();
            Optional<Claim> ofOneStart = used ? Optional.empty() : ofOneStart(id);
            if (ofOneStart.isPresent()) {
                // One that is just being created has yet to mount it.
                if (registry.liveOf(id).isEmpty()) {
                    files.delete(id);
                    deleted.add(ofOneStart.get());
                }
            } else if (!complete || used) {
                restore(id, mounted.isPresent() && used);
            } else if (registry.claims().claim(id).isEmpty()) {
                // Forgotten, by a daemon that was killed before it had deleted the directory.
                files.delete(id);
            }
        }
        if (!deleted.isEmpty()) {
            restoreMounted(deleted);
        }
    }

    /**
     * Restores those that were mounted after the scan and before their deletion; none can be
     * mounted any more.
     */
    private void restoreMounted(List<Claim> deleted) throws IOException {
        Optional<Set<String>> mounted = mounted();
        for (Claim claim : deleted) {
            if (mounted.isEmpty()) {
                unleased.add(claim.id(), Optional.empty());
            } else if (mounted.get().contains(claim.id())) {
                registry.claims().restore(claim, false);
                files.write(claim);
            }
        }
    }

    /** The claim with that id, if its container gets another one at its next start. */
    private Optional<Claim> ofOneStart(String id) {
        return files.read(id)
                .filter(claim -> claim.origin().isMounted() && claim.origin().isOverWithItsLease());
    }

    /**
     * The claims that are mounted; empty when they cannot be determined: then nothing is deleted.
     */
    private Optional<Set<String>> mounted() {
        try {
            ClaimMounts.Seen seen = evidence.mountedClaims();
            if (!seen.complete()) {
                LOG.warn(
                        "cannot determine which claims are mounted: a process has too many mounts");
                return Optional.empty();
            }
            return Optional.of(seen.ours().keySet());
        } catch (UncheckedIOException e) {
            LOG.warn("cannot determine which claims are mounted: {}", describe(e));
            return Optional.empty();
        }
    }

    private static String describe(UncheckedIOException e) {
        return FileErrors.describe(e.getCause());
    }

    private void restore(String id, boolean mounted) throws IOException {
        Optional<Claim> claim = files.read(id);
        if (claim.filter(it -> !it.origin().isMounted()).isPresent()) {
            return; // see LostProcesses, and Adoption#adoptStrays
        }
        if (claim.filter(it -> it.origin().isOverWithItsLease()).isPresent()
                && registry.claims().isReleased(id)) {
            return; // by force: what runs has no lease, and gets none
        }
        boolean volume = claim.filter(it -> it.origin().isKnownToDocker()).isPresent();
        if (claim.isPresent() && !volume && !mounted) {
            return; // whether its container runs is not known
        }
        boolean known = registry.claims().claim(id).isPresent();
        if (claim.isPresent() && (mounted || !registry.claims().isReconciled())) {
            registry.claims().restore(claim.get(), volume);
        } else if (!known && mounted) {
            registry.claims().revive(id);
        }
        if (!known && registry.claims().claim(id).isPresent()) {
            LOG.warn("claim {} was lost, and is known again", id);
        } else if (!known && mounted) {
            LOG.error("claim {} is mounted, but its GPUs are unknown", id);
            unleased.add(id, Optional.empty());
        }
    }
}
