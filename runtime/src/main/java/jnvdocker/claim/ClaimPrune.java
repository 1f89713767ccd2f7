package jnvdocker.claim;

import jnvdocker.holder.ContainerEngine;
import jnvdocker.holder.Evidence;
import jnvdocker.holder.HostView;
import jnvdocker.holder.Life;
import jnvdocker.keeper.ClaimRemover;
import jnvdocker.keeper.Keeper;
import jnvdocker.lease.Claim;
import jnvdocker.lease.ClaimKey;
import jnvdocker.lease.ClaimNames;
import jnvdocker.lease.Lease;
import jnvdocker.lease.text.LeaseText;
import jnvdocker.posix.FileErrors;
import jnvdocker.recovery.Reconciler;
import jnvdocker.registry.ClaimFiles;
import jnvdocker.registry.LeaseRegistry;
import jnvdocker.registry.RegistryException;
import jnvdocker.volume.FreedBytes;
import jnvdocker.words.Quote;

import java.io.IOException;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * Removes claims of containers that are gone, on request: those that the reconciler removes by
 * itself sooner or later, directories that no claim is known of, and, when that is requested too,
 * claims of an engine that cannot be queried.
 */
public final class ClaimPrune {
    private static final Duration LIMIT = Duration.ofSeconds(20);
    private static final String NAMED_NOW = "a container that uses it was just created";

    private final LeaseRegistry registry;
    private final ClaimFiles files;
    private final ClaimRemover remover;
    private final Evidence evidence;
    private final Keeper keeper;
    private final ContainerEngine engine;
    private final Reconciler reconciler;

    public ClaimPrune(
            LeaseRegistry registry,
            ClaimFiles files,
            ClaimRemover remover,
            Evidence evidence,
            Keeper keeper,
            ContainerEngine engine,
            Reconciler reconciler) {
        this.registry = registry;
        this.files = files;
        this.remover = remover;
        this.evidence = evidence;
        this.keeper = keeper;
        this.engine = engine;
        this.reconciler = reconciler;
    }

    /**
     * The request.
     *
     * @param users names of the containers that name a volume, by volume
     * @param dry whether to report without removing anything
     * @param otherEngines whether claims of other engines than the daemon's go, too
     */
    public record Wish(Map<String, List<String>> users, boolean dry, boolean otherEngines) {

        /** The reason that keeps a volume that containers name. */
        public Optional<String> named(String volume) {
            return Optional.ofNullable(users.get(volume))
                    .map(names ->
                            names.size() == 1
                                    ? "container " + names.getFirst() + " names it"
                                    : "containers " + String.join(", ", names) + " name it");
        }
    }

    /**
     * What is seen of the host, once for all claims.
     *
     * @param mounted by claim, what has it mounted
     */
    private record Seen(String engineId, HostView view, Map<String, String> mounted) {}

    /**
     * Goes through all claims, the oldest first.
     *
     * @param done gets one after another, also of those before a failure
     */
    public void run(Wish wish, List<Pruned> done) throws IOException {
        // What is mounted later is found when it is to be removed.
        Seen seen = new Seen(engine.id(LIMIT), evidence.view(), remover.mounted());
        // A claim is in the registry before it has a directory.
        List<String> directories = files.ids();
        Set<String> known = new HashSet<>();
        for (Claim claim : registry.claims().all()) {
            known.add(claim.id());
            done.add(known(claim, seen, wish));
        }
        for (String directory : directories) {
            if (!known.contains(directory)) {
                done.add(unknown(directory, seen, wish));
            }
        }
    }

    private Pruned known(Claim claim, Seen seen, Wish wish) throws IOException {
        String volume = ClaimNames.volume(claim.key());
        Optional<String> why = keeps(claim, seen, wish);
        if (why.isPresent()) {
            return Pruned.kept(volume, why.get());
        }
        long freed = FreedBytes.of(files.directory(claim.id()));
        if (!wish.dry()) {
            try {
                if (!reconciler.removeUnused(claim.id())) {
                    return Pruned.kept(volume, NAMED_NOW);
                }
            } catch (RegistryException e) {
                throw e;
            } catch (IOException e) {
                // An engine that is gone is no reason to keep one claim after another.
                engine.using(List.of(volume), LIMIT);
                return Pruned.kept(volume, FileErrors.describe(e));
            }
        }
        String gone =
                claim.container()
                        .map(Claim.ContainerRef::name)
                        .map(name -> "its container " + Quote.shown(name) + " is gone")
                        .orElse("no container has it");
        return new Pruned(volume, true, freed, gone);
    }

    private Optional<String> keeps(Claim claim, Seen seen, Wish wish) throws IOException {
        String volume = ClaimNames.volume(claim.key());
        Optional<String> named = wish.named(volume);
        if (named.isPresent()) {
            return named;
        }
        Optional<String> held = held(claim.id(), seen, wish.dry());
        if (held.isPresent()) {
            return held;
        }
        Optional<String> foreign = foreign(claim, seen.engineId());
        if (foreign.isPresent()
                && registry.claims().hasVolume(claim.id())
                && !wish.otherEngines()) {
            return foreign;
        }
        return Optional.ofNullable(seen.mounted().get(claim.id()));
    }

    /**
     * The reason to keep a claim that may have its container on another engine than this one; empty
     * for any other claim.
     */
    private static Optional<String> foreign(Claim claim, String engineId) {
        return claim.origin()
                .engineId()
                .filter(engine -> !engine.equals(engineId))
                .map(engine ->
                        "the engine "
                                + Quote.shown(engine)
                                + ", which is not the daemon's, may have its container; if that"
                                + " engine is gone for good: --other-engines");
    }

    /**
     * The lease that keeps a claim, for people; empty for none. A lease of a holder that is gone is
     * ended first; a dry run passes over it.
     */
    private Optional<String> held(String claim, Seen seen, boolean dry) throws IOException {
        Optional<Lease> lease = registry.liveOf(claim);
        if (lease.isPresent() && dry) {
            return lease.filter(it -> !(evidence.of(it, seen.view()) instanceof Life.Gone))
                    .map(ClaimPrune::held);
        }
        if (lease.isPresent()) {
            keeper.end(List.of(lease.get()), Keeper.Caller.CLIENT);
        }
        return registry.liveOf(claim).map(ClaimPrune::held);
    }

    private static String held(Lease lease) {
        return "it " + LeaseText.held(lease);
    }

    /** The volume of a directory: its own file, or a container, may still know the secret. */
    private String volume(String claim, Wish wish) {
        return files.read(claim)
                .map(its -> ClaimNames.volume(its.key()))
                .or(() ->
                        wish.users().keySet().stream()
                                .filter(volume ->
                                        ClaimNames.ofVolume(volume)
                                                .filter(key -> key.id().equals(claim))
                                                .isPresent())
                                .findFirst())
                .orElseGet(() -> ClaimNames.volume(ClaimKey.secretless(claim)));
    }

    /** A directory alone, of which docker may still remember a volume. */
    private Pruned unknown(String claim, Seen seen, Wish wish) throws IOException {
        String volume = volume(claim, wish);
        Optional<String> why = wish.named(volume);
        if (why.isEmpty() && !reconciler.isComplete()) {
            why = Optional.of("the registry was lost, and may be restored from its directory");
        }
        if (why.isEmpty()) {
            why = Optional.ofNullable(seen.mounted().get(claim));
        }
        if (why.isPresent()) {
            return Pruned.kept(volume, why.get());
        }
        long freed = FreedBytes.of(files.directory(claim));
        if (!wish.dry()) {
            if (!engine.removeVolume(volume, LIMIT)) {
                return Pruned.kept(volume, NAMED_NOW);
            }
            if (!remover.remove(claim)) {
                return Pruned.kept(volume, NAMED_NOW);
            }
        }
        return new Pruned(volume, true, freed, "its claim no longer exists");
    }
}
