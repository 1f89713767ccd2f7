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
import jnvdocker.lease.Claim;
import jnvdocker.lease.ClaimNames;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Origin;
import jnvdocker.lease.RefusedStart;
import jnvdocker.lease.text.LeaseText;
import jnvdocker.volume.plugin.DriverVolumes;
import jnvdocker.words.Quote;
import jnvdocker.words.RefusedException;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;

/**
 * Finds containers that would be refused at their next start, even if their GPUs are free by then,
 * and those that are down because they were refused once.
 */
final class ClaimCheck implements Check {
    private final Host host;
    private final DockerEngine engine;
    private final Leases leases;
    private final DaemonFacts daemon;
    private final DockerlessHost dockerless;

    ClaimCheck(
            Host host,
            DockerEngine engine,
            Leases leases,
            DaemonFacts daemon,
            DockerlessHost dockerless) {
        this.host = host;
        this.engine = engine;
        this.leases = leases;
        this.daemon = daemon;
        this.dockerless = dockerless;
    }

    @Override
    public String name() {
        return "claims";
    }

    @Override
    public List<Finding> findings() throws IOException {
        HostDriver driver = HostDriver.read(host);
        List<Claim> claims = leases.claimsWithVolume();
        List<Finding> found = new ArrayList<>();
        Map<String, String> containers = new TreeMap<>();
        List<RefusedStart> refused = leases.refusedStarts();
        try {
            for (Listed container : containers()) {
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
            found.add(Finding.unknown(Finding.failure(e)));
        }
        for (Claim claim : claims) {
            add(
                    containers.getOrDefault(ClaimNames.volume(claim.id()), claim.displayName()),
                    () -> ClaimedNodes.refuseOthers(claim, driver.gpus()),
                    found);
        }
        refused.forEach(each -> found.add(finding(each)));
        leases.withheld().running().forEach(each -> found.add(finding(each)));
        return found.isEmpty()
                ? List.of(Finding.ok(count(claims.size()) + tasks(leases.live())))
                : found;
    }

    private List<Listed> containers() throws IOException {
        if (dockerless.isSo()) {
            return List.of();
        }
        engine.facts(EngineCheck.LIMIT);
        return engine.withVolumesOf(daemon.pluginName(), EngineCheck.LIMIT);
    }

    /**
     * Adds the containers that their restart policies did not bring back.
     *
     * @param known those that are known to wait for their GPUs
     */
    private void addMissed(List<RefusedStart> known, List<Finding> found) throws IOException {
        Set<String> names =
                known.stream().map(each -> each.claim().displayName()).collect(Collectors.toSet());
        for (ContainerEngine.Down down : engine.ended(EngineCheck.LIMIT)) {
            Optional<String> why = down.obstacle(daemon.pluginName());
            if (why.isPresent() && !names.contains(down.name())) {
                String name = Quote.shown(down.name());
                found.add(
                        Finding.wrong(
                                "container "
                                        + name
                                        + " did not come back: "
                                        + Quote.shown(why.get()),
                                "docker start " + name));
            }
        }
    }

    private static Finding finding(RefusedStart refused) {
        String container = Quote.shown(refused.claim().displayName());
        return Finding.wrong(
                "container "
                        + container
                        + " is down since docker was started ("
                        + LeaseText.time(refused.since())
                        + "): "
                        + refused.what(),
                "it is started as soon as its GPUs are free and nobody waits for them; to keep it"
                        + " down: docker update --restart=no "
                        + container);
    }

    private static Finding finding(WithheldGpus.Withheld withheld) {
        return Finding.hint(
                "container "
                        + Quote.shown(withheld.name())
                        + " runs without a GPU since "
                        + LeaseText.time(withheld.since())
                        + ": "
                        + withheld.reason().what(),
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
                live.stream()
                        .filter(lease ->
                                switch (lease.claim().origin()) {
                                    case Origin.MesosTask _ -> true;
                                    case Origin.DockerContainer _,
                                            Origin.HostProcess _,
                                            Origin.OciContainer _,
                                            Origin.Pod _ ->
                                            false;
                                })
                        .count();
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

    private static void add(String container, Rule rule, List<Finding> found) {
        try {
            rule.apply();
        } catch (RefusedException e) {
            String about = "container " + Quote.shown(container) + " cannot be started: ";
            found.add(Finding.wrong(e.refusal().precededBy(about)));
        }
    }
}
