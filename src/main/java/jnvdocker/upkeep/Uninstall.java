package jnvdocker.upkeep;

import jnvdocker.docker.engine.DockerEngine;
import jnvdocker.grant.ContainerEngine.Listed;
import jnvdocker.grant.Leases;
import jnvdocker.grant.Reconciler;
import jnvdocker.kubernetes.PodInjection;
import jnvdocker.lease.Claim;
import jnvdocker.lease.ClaimNames;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Origin;
import jnvdocker.lease.text.LeaseText;
import jnvdocker.oci.install.Registration;
import jnvdocker.oci.install.RuntimeInstaller;
import jnvdocker.posix.FileErrors;
import jnvdocker.volume.ServedVolumes;
import jnvdocker.volume.plugin.VolumePlugin;
import jnvdocker.words.Quote;
import jnvdocker.words.RefusedException;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.stream.Collectors;

/**
 * Removes everything of ours from the engine. Every volume that it remembers would delay its next
 * start by 15 seconds, and again for each container with one, since no plugin answers any more.
 */
public final class Uninstall {
    private static final Duration LIMIT = Duration.ofSeconds(20);

    /** The number of past claims whose volumes the engine may still remember. */
    private static final int LATELY = 100;

    private final DockerEngine engine;
    private final Leases leases;
    private final Reconciler reconciler;
    private final VolumePlugin plugin;
    private final ServedVolumes served;
    private final RuntimeInstaller runtimes;
    private final PodInjection pods;
    private final String pluginName;

    public Uninstall(
            DockerEngine engine,
            Leases leases,
            Reconciler reconciler,
            VolumePlugin plugin,
            ServedVolumes served,
            RuntimeInstaller runtimes,
            PodInjection pods,
            String pluginName) {
        this.engine = engine;
        this.leases = leases;
        this.reconciler = reconciler;
        this.plugin = plugin;
        this.served = served;
        this.runtimes = runtimes;
        this.pods = pods;
        this.pluginName = pluginName;
    }

    /** The names of the removed containers and volumes. */
    public record Removed(List<String> containers, List<String> volumes) {}

    /**
     * Removes every volume of ours, and their mounts. After that no claim is granted and no volume
     * made any more; after a failure, both are possible again.
     *
     * @param withContainers whether to remove stopped containers that have such volumes, too
     * @throws RefusedException naming the obstacle, such as an engine that does not answer
     */
    public synchronized Removed run(boolean withContainers) throws RefusedException {
        Removed removed = new Removed(new ArrayList<>(), new ArrayList<>());
        boolean done = false;
        leases.stop();
        plugin.stop();
        try {
            remove(withContainers, removed);
            done = true;
            return removed;
        } catch (RefusedException e) {
            throw new RefusedException(e.refusal().followedBy(before(removed)));
        } catch (IOException e) {
            throw new RefusedException(FileErrors.refusal(e).followedBy(before(removed)));
        } finally {
            if (!done) {
                plugin.resume();
                leases.resume();
                pods.resume();
            }
        }
    }

    private void remove(boolean withContainers, Removed removed)
            throws RefusedException, IOException {
        refuseRuntimes();
        List<Listed> containers = engine.withVolumesOf(pluginName, LIMIT);
        refuseRunning(containers);
        if (!withContainers) {
            refuseStopped(containers);
        }
        refuseOtherEngines();
        SortedSet<String> volumes = new TreeSet<>(engine.volumesOf(pluginName, LIMIT));
        for (Listed container : containers) {
            // A volume that is no longer on disk is not listed, but the engine remembers it.
            volumes.addAll(container.volumes());
            engine.removeContainer(container.id(), LIMIT);
            removed.containers().add(container.name());
        }
        reconciler.reconcile();
        refuseHolders();
        for (String volume : volumes) {
            if (!engine.removeVolume(volume, LIMIT)) {
                throw new RefusedException(
                        "a container was just created that uses the volume " + volume, "try again");
            }
            removed.volumes().add(volume);
        }
        forgetRemoved();
        refuseStopped(engine.withVolumesOf(pluginName, LIMIT));
        pods.remove();
        served.releaseAll();
    }

    /**
     * Has the engine forget volumes that it just removes, or whose removal a daemon that ended did
     * not confirm: no list has them any more. What it does not know costs nothing.
     */
    private void forgetRemoved() throws IOException {
        for (Claim claim : leases.pastClaimsWithVolume(LATELY)) {
            engine.removeVolume(ClaimNames.volume(claim.id()), LIMIT);
        }
    }

    /** Their containers with GPUs would be refused for ever. */
    private void refuseRuntimes() throws RefusedException, IOException {
        List<Registration> registered = runtimes.registered();
        if (!registered.isEmpty()) {
            throw new RefusedException(
                    "engines have the OCI runtime, by "
                            + registered.stream()
                                    .map(each -> each.config().toString())
                                    .collect(Collectors.joining(", ")),
                    "remove it first: jnvdocker runtime uninstall");
        }
    }

    private static void refuseRunning(List<Listed> containers) throws RefusedException {
        List<Listed> running = containers.stream().filter(Listed::isActive).toList();
        if (!running.isEmpty()) {
            throw new RefusedException(
                    "containers run with GPU volumes: " + names(running, ", "),
                    "stop them first: docker stop " + names(running, " "));
        }
    }

    private static void refuseStopped(List<Listed> containers) throws RefusedException {
        if (!containers.isEmpty()) {
            throw new RefusedException(
                    "stopped containers have GPU volumes: "
                            + names(containers, ", ")
                            + "; without jnvdocker they could no longer start, and each would delay"
                            + " the Docker engine's start by 15 seconds",
                    "remove them: docker rm "
                            + names(containers, " ")
                            + ", or have 'jnvdocker gpu uninstall --remove-containers' do it");
        }
    }

    /**
     * Refuses if a client got GPUs before claims were refused, and has not started a container yet.
     */
    private void refuseHolders() throws RefusedException, IOException {
        List<Lease> live = leases.live();
        if (!live.isEmpty()) {
            throw new RefusedException(
                    "GPUs are held: "
                            + live.stream()
                                    .map(lease -> LeaseText.holder(lease) + " holds them")
                                    .collect(Collectors.joining(", ")),
                    "try again when they are free ('jnvdocker gpu leases')");
        }
    }

    /** This engine does not know that the volumes of such a container are in use. */
    private void refuseOtherEngines() throws RefusedException, IOException {
        for (Claim claim : leases.claimsWithVolume()) {
            Optional<String> address = otherEngine(claim.origin());
            if (address.isPresent()) {
                String volume = ClaimNames.volume(claim.id());
                throw new RefusedException(
                        "the engine at "
                                + address.get()
                                + " may have a container with the volume "
                                + volume
                                + ", which cannot be asked",
                        "remove both there: docker -H " + address.get() + " volume rm " + volume);
            }
        }
    }

    private static Optional<String> otherEngine(Origin origin) {
        return switch (origin) {
            case Origin.OtherEngineContainer(String address, _) -> Optional.of(address);
            case Origin.EngineContainer _,
                    Origin.HostProcess _,
                    Origin.MesosTask _,
                    Origin.OciContainer _,
                    Origin.Pod _ ->
                    Optional.empty();
        };
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

    private static String names(List<Listed> containers, String separator) {
        return shown(containers.stream().map(Listed::name).toList(), separator);
    }

    private static String shown(List<String> names, String separator) {
        return names.stream().map(Quote::shown).collect(Collectors.joining(separator));
    }
}
