package jnvdocker.doctor;

import jnvdocker.claim.ClaimedNodes;
import jnvdocker.core.Leases;
import jnvdocker.core.WithheldGpus;
import jnvdocker.docker.engine.DockerEngine;
import jnvdocker.docker.engine.EngineException;
import jnvdocker.holder.ContainerEngine;
import jnvdocker.holder.ContainerEngine.Listed;
import jnvdocker.host.Host;
import jnvdocker.host.HostDriver;
import jnvdocker.labels.DriverVersion;
import jnvdocker.lease.Claim;
import jnvdocker.lease.ClaimNames;
import jnvdocker.lease.Lease;
import jnvdocker.lease.RefusedStart;
import jnvdocker.lease.text.LeaseText;
import jnvdocker.volume.DriverVolume;
import jnvdocker.volume.DriverVolumeStore;
import jnvdocker.volume.plugin.DriverVolumes;
import jnvdocker.words.Quote;
import jnvdocker.words.RefusedException;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;

/** Checks the containers with claims, and scans for remains of nvidia-docker 1.0. */
final class ContainerChecks {
    private static final String DIRECTORY = "/var/lib/nvidia-docker/volumes";
    private static final String UNIT = "nvidia-docker.service";
    private static final List<String> UNIT_DIRECTORIES =
            List.of("/etc/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system");
    private static final List<String> SPEC_DIRECTORIES =
            List.of("/etc/docker/plugins", "/usr/lib/docker/plugins");

    private final Host host;
    private final DockerEngine engine;
    private final Leases leases;
    private final DriverVolumeStore volumes;
    private final DaemonFacts daemon;
    private final DockerlessHost dockerless;

    ContainerChecks(Doctor.Surroundings around) {
        this.host = around.host();
        this.engine = around.engine();
        this.leases = around.leases();
        this.volumes = around.volumes();
        this.daemon = around.daemon();
        this.dockerless = new DockerlessHost(around);
    }

    /**
     * Containers that would be refused at their next start, even if their GPUs are free by then,
     * and those that are down because they were refused once.
     */
    void claims(Findings found) throws IOException {
        HostDriver driver = HostDriver.read(host);
        List<Claim> claims = leases.claims().withVolume();
        Map<String, String> containers = new TreeMap<>();
        List<RefusedStart> refused = leases.claims().refusedStarts();
        try {
            for (Listed container : withOurVolumes()) {
                container.volumes().forEach(volume -> containers.put(volume, container.name()));
                container.volumes().stream()
                        .filter(DriverVolumes::isDriver)
                        .forEach(volume ->
                                add(
                                        container.name(),
                                        () -> DriverVolumes.refuseNewer(volume, driver.version()),
                                        found));
            }
            if (!dockerless.isSo()) {
                addMissed(refused, found);
            }
        } catch (EngineException e) {
            found.unknown(Finding.failure(e));
        }
        for (Claim claim : claims) {
            add(
                    containers.getOrDefault(ClaimNames.volume(claim.key()), claim.displayName()),
                    () -> ClaimedNodes.refuseOthers(claim, driver.gpus()),
                    found);
        }
        refused.forEach(each -> add(each, found));
        leases.withheld().running().forEach(each -> add(each, found));
        found.okIfNothingElse(count(claims.size()) + tasks(leases.live()));
    }

    private List<Listed> withOurVolumes() throws IOException {
        if (dockerless.isSo()) {
            return List.of();
        }
        engine.facts(EngineChecks.LIMIT);
        return engine.objects().withVolumesOf(daemon.pluginName(), EngineChecks.LIMIT);
    }

    /**
     * Adds the containers that their restart policies did not bring back.
     *
     * @param known those that are known to wait for their GPUs
     */
    private void addMissed(List<RefusedStart> known, Findings found) throws IOException {
        Set<String> names =
                known.stream().map(each -> each.claim().displayName()).collect(Collectors.toSet());
        for (ContainerEngine.Down down : engine.ended(EngineChecks.LIMIT)) {
            Optional<String> why = down.obstacle(daemon.pluginName());
            if (why.isPresent() && !names.contains(down.name())) {
                String name = Quote.shown(down.name());
                found.wrong(
                        "container " + name + " did not come back: " + Quote.whole(why.get()),
                        "docker start " + name);
            }
        }
    }

    private static void add(RefusedStart refused, Findings found) {
        String container = Quote.shown(refused.claim().displayName());
        found.wrong(
                "container %s is down since docker was to start it (%s): %s"
                        .formatted(container, LeaseText.time(refused.since()), refused.what()),
                "it is started as soon as its GPUs are free and nobody waits for them; to keep it"
                        + " down: docker update --restart=no "
                        + container);
    }

    private static void add(WithheldGpus.Withheld withheld, Findings found) {
        found.hint(
                "container %s runs without a GPU since %s: %s"
                        .formatted(
                                Quote.shown(withheld.name()),
                                LeaseText.time(withheld.since()),
                                withheld.reason().what()),
                withheld.reason().remedy().orElse(""));
    }

    private static String count(int claims) {
        return switch (claims) {
            case 0 -> "no Docker container has a claim";
            case 1 -> "1 container has a claim, and its GPUs are there";
            default -> claims + " containers have claims, and their GPUs are there";
        };
    }

    /** No data is kept of a Mesos task that could be wrong at its next start. */
    private static String tasks(List<Lease> live) {
        long tasks =
                live.stream().filter(lease -> lease.claim().origin().task().isPresent()).count();
        return switch ((int) tasks) {
            case 0 -> "";
            case 1 -> "; 1 Mesos task holds GPUs";
            default -> "; " + tasks + " Mesos tasks hold GPUs";
        };
    }

    /** The reason for which a container's start is refused. */
    @FunctionalInterface
    private interface Rule {
        void apply() throws RefusedException;
    }

    private static void add(String container, Rule rule, Findings found) {
        try {
            rule.apply();
        } catch (RefusedException e) {
            String about = "container " + Quote.shown(container) + " cannot be started: ";
            found.wrong(e.refusal().precededBy(about));
        }
    }

    /** Remains of nvidia-docker 1.0 on this host; its plugin had the name of ours. */
    void leftovers(Findings found) throws IOException {
        for (Path unit : there(UNIT_DIRECTORIES, List.of(UNIT))) {
            found.wrong(
                    unit + " is nvidia-docker 1.0's, whose plugin takes our plugin's name",
                    "systemctl disable --now "
                            + UNIT
                            + ", and remove its package (apt-get purge nvidia-docker) or "
                            + unit);
        }
        List<String> specs = List.of(daemon.pluginName() + ".spec", daemon.pluginName() + ".json");
        for (Path spec : there(SPEC_DIRECTORIES, specs)) {
            found.wrong(
                    "%s gives Docker another address of plugin %s than ours"
                            .formatted(spec, daemon.pluginName()),
                    "rm " + spec);
        }
        Path directory = host.resolve(DIRECTORY);
        if (Files.isDirectory(directory)) {
            found.hint(
                    directory + " has volumes of nvidia-docker 1.0, which nobody serves",
                    "when no container that it started runs any more: rm -r " + directory);
        }
        containers(found);
        found.okIfNothingElse("nothing is left of nvidia-docker 1.0");
    }

    /** Usrmerge makes two of the directories one. */
    private Set<Path> there(List<String> directories, List<String> names) throws IOException {
        Set<Path> there = new TreeSet<>();
        for (String directory : directories) {
            for (String name : names) {
                Path path = host.resolve(directory + "/" + name);
                if (Files.exists(path)) {
                    there.add(path);
                }
            }
        }
        return there;
    }

    /**
     * The engine lists only volumes that our plugin lists, so this goes by its containers, which
     * name them.
     */
    private void containers(Findings found) throws IOException {
        Set<String> there = new TreeSet<>();
        for (DriverVersion version : volumes.versions()) {
            there.add(DriverVolume.name(version));
        }
        if (dockerless.isSo()) {
            return;
        }
        for (Listed container : withOurVolumes()) {
            container.volumes().stream()
                    .filter(DriverVolumes::isDriver)
                    .filter(volume -> !there.contains(volume))
                    .forEach(volume -> add(container, volume, found));
        }
    }

    private static void add(Listed container, String volume, Findings found) {
        String name = Quote.shown(container.name());
        String shown = Quote.shown(volume);
        found.hint(
                "container "
                        + name
                        + " has volume "
                        + shown
                        + ", of which there are no files: it gets those of the loaded driver",
                "create it again with 'jnvdocker run', and docker rm %s && docker volume rm %s"
                        .formatted(name, shown));
    }
}
