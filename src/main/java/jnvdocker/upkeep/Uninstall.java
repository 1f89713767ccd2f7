package jnvdocker.upkeep;

import jnvdocker.core.Leases;
import jnvdocker.docker.engine.DockerEngine;
import jnvdocker.docker.engine.EngineException;
import jnvdocker.holder.ContainerEngine.Listed;
import jnvdocker.lease.Claim;
import jnvdocker.lease.ClaimNames;
import jnvdocker.lease.Lease;
import jnvdocker.lease.text.LeaseText;
import jnvdocker.oci.install.EngineKind;
import jnvdocker.oci.install.OwnConfig;
import jnvdocker.oci.install.Registration;
import jnvdocker.oci.install.RuntimeInstaller;
import jnvdocker.posix.FileErrors;
import jnvdocker.recovery.Reconciler;
import jnvdocker.volume.ServedVolumes;
import jnvdocker.volume.plugin.VolumePlugin;
import jnvdocker.words.Quote;
import jnvdocker.words.Refusal;
import jnvdocker.words.RefusedException;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Removes everything of ours from the engine. Every volume that it remembers would delay its next
 * start by 15 seconds, and again for each container with one, since no plugin answers any more.
 */
public final class Uninstall {
    private static final Duration LIMIT = Duration.ofSeconds(20);
    private static final Duration INTERVAL = Duration.ofMillis(50);

    /** The number of past claims with volumes that the engine may still remember. */
    private static final int LATELY = 100;

    private final DockerEngine engine;
    private final Leases leases;
    private final Reconciler reconciler;
    private final VolumePlugin plugin;
    private final ServedVolumes served;
    private final RuntimeInstaller runtimes;
    private final OwnConfig own;
    private final List<? extends Part> parts;
    private final RuntimeNeeds needs;
    private final String pluginName;

    /** A part of the daemon that leaves something on the host. */
    public interface Part {
        /** Removes it; nothing is made again until {@link #resume}. */
        default void remove() throws IOException {}

        /** Goes on, since jnvdocker is not uninstalled after all. */
        default void resume() {}
    }

    public Uninstall(
            DockerEngine engine,
            Leases leases,
            Reconciler reconciler,
            VolumePlugin plugin,
            ServedVolumes served,
            RuntimeInstaller runtimes,
            OwnConfig own,
            List<? extends Part> parts,
            String pluginName) {
        this.engine = engine;
        this.leases = leases;
        this.reconciler = reconciler;
        this.plugin = plugin;
        this.served = served;
        this.runtimes = runtimes;
        this.own = own;
        this.parts = parts;
        this.needs = new RuntimeNeeds(engine);
        this.pluginName = pluginName;
    }

    /** The names of the removed containers and volumes. */
    public record Removed(List<String> containers, List<String> volumes) {}

    /**
     * The extent of an uninstallation.
     *
     * @param containers whether to remove stopped containers that have volumes of ours, too
     * @param engine false on a host without Docker, where no engine is queried
     */
    public record Wish(boolean containers, boolean engine) {}

    /**
     * The result of an uninstallation.
     *
     * @param obstacles all that stands in the way, each with what to do about it; nothing is
     *     removed when there are any
     */
    public record Outcome(List<Refusal> obstacles, Removed removed) {}

    /**
     * Removes every volume of ours, their mounts, and our OCI runtime. After that no claim is
     * granted and no volume made any more; after a failure, both are possible again, and clients
     * that waited have kept their places.
     *
     * @throws RefusedException when it fails halfway, or when the obstacles cannot be found out,
     *     such as for an engine that does not answer
     */
    public synchronized Outcome run(Wish wish) throws RefusedException {
        Removed removed = new Removed(new ArrayList<>(), new ArrayList<>());
        boolean done = false;
        leases.grants().stop();
        plugin.stop();
        try {
            awaitCreations();
            List<Listed> containers = wish.engine() ? containers() : List.of();
            List<Refusal> obstacles = obstacles(wish, containers);
            if (obstacles.isEmpty()) {
                remove(wish, containers, removed);
                done = true;
                leases.grants().refuseWaiting();
            }
            return new Outcome(obstacles, removed);
        } catch (RefusedException e) {
            throw new RefusedException(e.refusal().followedBy(before(removed)));
        } catch (IOException e) {
            throw new RefusedException(FileErrors.refusal(e).followedBy(before(removed)));
        } finally {
            if (!done) {
                plugin.resume();
                leases.grants().resume();
                parts.forEach(Part::resume);
            }
        }
    }

    /**
     * On a busy host there is always a container that is being created, but no new one begins once
     * leases are stopped.
     */
    private void awaitCreations() throws IOException {
        long deadline = System.nanoTime() + LIMIT.toNanos();
        boolean isInTime = true;
        while (isInTime && leases.live().stream().anyMatch(Lease::isReservation)) {
            isInTime = pauses(deadline);
        }
    }

    /** Returns false when there is no time for another attempt. */
    private static boolean pauses(long deadline) {
        LockSupport.parkNanos(INTERVAL.toNanos());
        return System.nanoTime() - deadline < 0 && !Thread.currentThread().isInterrupted();
    }

    private void remove(Wish wish, List<Listed> containers, Removed removed)
            throws RefusedException, IOException {
        if (wish.engine()) {
            removeFromEngine(wish, containers, removed);
        }
        for (Registration each : runtimes.registered()) {
            runtimes.removeName(each, needs.heirs(each, wish.engine()));
            runtimes.removePrograms(each);
        }
        own.removeOwn();
        for (Part part : parts) {
            part.remove();
        }
        served.releaseAll();
    }

    private void removeFromEngine(Wish wish, List<Listed> containers, Removed removed)
            throws RefusedException, IOException {
        long deadline = System.nanoTime() + LIMIT.toNanos();
        Optional<String> used = removeOnce(containers, removed);
        // Containers are removed, too, that were created during the removal of the volumes.
        while (used.isPresent() && pauses(deadline)) {
            List<Listed> created = containers();
            refuse(obstacles(wish, created).stream());
            used = removeOnce(created, removed);
        }
        if (used.isPresent()) {
            throw new RefusedException(
                    "a container was just created that uses the volume " + used.get(), "try again");
        }
        forgetRemoved();
        refuse(inTheWay(engine.objects().withVolumesOf(pluginName, LIMIT)).stream());
    }

    /**
     * Returns a volume that could not be removed, since a container without a lease uses it that
     * was being created when leases were stopped.
     */
    private Optional<String> removeOnce(List<Listed> containers, Removed removed)
            throws RefusedException, IOException {
        SortedSet<String> volumes = new TreeSet<>(engine.objects().volumesOf(pluginName, LIMIT));
        for (Listed container : containers) {
            // A volume that is no longer on disk is not listed, but the engine remembers it.
            volumes.addAll(container.volumes());
            engine.objects().removeContainer(container.id(), LIMIT);
            removed.containers().add(container.name());
        }
        reconciler.reconcile();
        refuse(holders(List.of()).stream());
        for (String volume : volumes) {
            if (!engine.removeVolume(volume, LIMIT)) {
                return Optional.of(volume);
            }
            removed.volumes().add(volume);
        }
        return Optional.empty();
    }

    private static void refuse(Stream<Refusal> obstacles) throws RefusedException {
        Optional<Refusal> first = obstacles.findFirst();
        if (first.isPresent()) {
            throw new RefusedException(first.get());
        }
    }

    /** The containers that could not start, or would have no GPU, without us. */
    private List<Listed> containers() throws RefusedException, IOException {
        Map<String, Listed> found = new LinkedHashMap<>();
        engine.objects()
                .withVolumesOf(pluginName, LIMIT)
                .forEach(each -> found.put(each.id(), each));
        for (Registration each : runtimes.registered()) {
            needs.withGpus(each).forEach(its -> found.putIfAbsent(its.id(), its));
        }
        return List.copyOf(found.values());
    }

    private List<Refusal> obstacles(Wish wish, List<Listed> containers)
            throws RefusedException, IOException {
        List<Refusal> found = new ArrayList<>();
        inTheWay(
                        wish.containers()
                                ? containers.stream().filter(Listed::isActive).toList()
                                : containers)
                .ifPresent(found::add);
        for (Registration each : runtimes.registered()) {
            if (wish.engine() || each.engine() != EngineKind.DOCKER) {
                needs.of(each)
                        .map(need -> need.precededBy(each.program() + " has to stay: "))
                        .ifPresent(found::add);
            }
        }
        holders(containers).ifPresent(found::add);
        return found;
    }

    /**
     * Has the engine forget volumes that it is just removing, or for which a daemon ended before it
     * confirmed the removal: no list has them any more. What it does not know costs nothing.
     */
    private void forgetRemoved() throws IOException {
        for (Claim claim : leases.claims().forgottenWithVolume(LATELY)) {
            engine.removeVolume(ClaimNames.volume(claim.key()), LIMIT);
        }
    }

    private Optional<Refusal> inTheWay(List<Listed> containers) throws EngineException {
        return containers.isEmpty()
                ? Optional.empty()
                : Optional.of(
                        new Refusal(
                                "containers need jnvdocker: "
                                        + RuntimeNeeds.names(containers, ", "),
                                needs.removal(containers)));
    }

    /** Returns a refusal if there are holders of GPUs besides these containers. */
    private Optional<Refusal> holders(List<Listed> containers) throws IOException {
        Set<String> known = containers.stream().map(Listed::id).collect(Collectors.toSet());
        List<String> holders =
                leases.inUse().stream()
                        .filter(lease ->
                                lease.claim()
                                        .container()
                                        .filter(its -> known.contains(its.id()))
                                        .isEmpty())
                        .map(LeaseText::holder)
                        .distinct()
                        .toList();
        return holders.isEmpty()
                ? Optional.empty()
                : Optional.of(
                        new Refusal(
                                "GPUs are held by " + String.join(", ", holders),
                                "try again when they are free ('jnvdocker gpu leases')"));
    }

    private static String before(Removed removed) {
        List<String> gone = new ArrayList<>(removed.containers());
        gone.addAll(removed.volumes());
        return before(gone);
    }

    /** Formats the removals for a user whose uninstallation failed halfway. */
    static String before(List<String> removed) {
        return removed.isEmpty() ? "" : " (removed before that: " + shown(removed, ", ") + ")";
    }

    private static String shown(List<String> names, String separator) {
        return names.stream().map(Quote::shown).collect(Collectors.joining(separator));
    }
}
