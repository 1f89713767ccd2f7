package jnvdocker.mesos.launch;

import jnvdocker.command.caller.GpuWait;
import jnvdocker.container.Allocation;
import jnvdocker.core.Leases;
import jnvdocker.core.RunClaims;
import jnvdocker.grant.Grant;
import jnvdocker.grant.Waiting;
import jnvdocker.host.Gpu;
import jnvdocker.host.GpuInventory;
import jnvdocker.lease.Claim;
import jnvdocker.lease.HolderName;
import jnvdocker.lease.Origin;
import jnvdocker.lease.Owner;
import jnvdocker.lease.Request;
import jnvdocker.lease.text.Owners;
import jnvdocker.mesos.agent.MesosPolicy;
import jnvdocker.posix.ProcessId;
import jnvdocker.process.Processes;
import jnvdocker.protocol.ClientConnection;
import jnvdocker.request.GpuRequest;
import jnvdocker.words.Quote;
import jnvdocker.words.RefusedException;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.IOException;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Supplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * The claims of Mesos containers. An agent offers GPUs again some seconds before their last
 * container is gone, so each claim waits a while for held GPUs.
 */
public final class MesosClaims {
    /** The path of a sandbox names the executor and the nested container. */
    private static final Pattern SANDBOX =
            Pattern.compile(".*/executors/([^/]+)/runs/[^/]+(?:.*/([^/]{1,8})[^/]*)?");

    private static final Pattern FRAMEWORK = Pattern.compile(".*/frameworks/([^/]+)/executors/.*");

    private static final Logger LOG = LoggerFactory.getLogger(MesosClaims.class);

    private final Leases leases;
    private final Supplier<MesosPolicy> policy;
    private final GpuInventory inventory;
    private final Processes processes = Processes.ofThisMachine();

    /**
     * Containers for which GPUs are being claimed. Tasks that share GPUs request them at the same
     * time.
     */
    private final Set<String> underWay = new HashSet<>();

    public MesosClaims(Leases leases, Supplier<MesosPolicy> policy, GpuInventory inventory) {
        this.leases = leases;
        this.policy = policy;
        this.inventory = inventory;
    }

    /**
     * Gives a container the GPUs of its share, for as long as any of its processes lives. If it
     * requests them again, it gets the same GPUs.
     *
     * @param suited the UUIDs of the only GPUs that its image can use; empty when it can use any
     * @param taskId the task's, if it is known
     * @param process the process with which the agent has started the container, and which sends
     *     the request
     */
    Allocation claim(
            GpuShare share,
            Set<String> suited,
            Optional<String> taskId,
            TaskCgroups cgroups,
            ProcessId process,
            ClientConnection client)
            throws IOException, RefusedException {
        String id = share.owner().id();
        Claim claim;
        begin(id, client);
        try {
            Optional<Claim> known = MesosKind.claimOf(id, leases.live());
            claim =
                    known.isPresent()
                            ? known.get()
                            : make(share, suited, taskId, cgroups, process, client);
        } finally {
            end(id);
        }
        // The GPUs may have changed during the wait.
        return new Allocation(RunClaims.gpus(claim, inventory.read().gpus()), List.of(), Map.of());
    }

    /**
     * Notes that a container is not launched: an agent passes no reason on, and the log and the
     * events are all that an administrator has.
     *
     * @param directory the agent's directory of it
     */
    void refused(String directory, RefusedException why) {
        Owner owner = Owner.UNKNOWN;
        String container = directory.substring(directory.lastIndexOf('/') + 1);
        String purpose = "Mesos container " + Quote.shown(container);
        try {
            RuntimeDirectory its = RuntimeDirectory.of(directory);
            ContainerConfig config = its.config();
            owner = owner(config);
            purpose = purpose(name(config.directory(), its), config.directory());
        } catch (IOException | RefusedException e) {
            LOG.debug("{} is known by its id alone: {}", purpose, e.getMessage());
        }
        leases.decisions().refused(owner, purpose, why);
    }

    private static String purpose(String name, String sandbox) {
        Matcher framework = FRAMEWORK.matcher(sandbox);
        return HolderName.scheduled(new Origin.MesosTask(name)).orElseThrow()
                + (framework.matches() ? " of framework " + Quote.shown(framework.group(1)) : "");
    }

    private void begin(String id, ClientConnection client) throws IOException {
        synchronized (underWay) {
            while (!underWay.add(id)) {
                client.waits();
                try {
                    underWay.wait();
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                    throw new IOException("the daemon is stopping", e);
                }
            }
        }
    }

    private void end(String id) {
        synchronized (underWay) {
            underWay.remove(id);
            underWay.notifyAll();
        }
    }

    private Claim make(
            GpuShare share,
            Set<String> suited,
            Optional<String> taskId,
            TaskCgroups cgroups,
            ProcessId process,
            ClientConnection client)
            throws IOException, RefusedException {
        ContainerConfig config = share.config();
        String name =
                taskId.map(Quote::shown).orElseGet(() -> name(config.directory(), share.owner()));
        Waiting waiting = GpuWait.of(Optional.of(policy.get().patience()), client);
        Request request =
                new Request(
                        share.request(),
                        candidates(share.request(), suited),
                        owner(config),
                        process,
                        new Origin.MesosTask(name),
                        Optional.empty());
        try (Grant<Claim> grant = leases.runs().take(request, Optional.of(waiting))) {
            leases.reservations()
                    .becomes(
                            grant.given().orElseThrow(),
                            process,
                            new Claim.ContainerRef(share.owner().id(), name),
                            MesosKind.holder(
                                    share.isInherited() ? processOf(share.owner()) : process,
                                    share.owner().path().toString(),
                                    cgroups.freezer(),
                                    cgroups.outermostDevices()));
            return grant.keep().orElseThrow();
        }
    }

    /**
     * Returns the UUIDs of the GPUs that Mesos tasks get and the image can use; none if they may be
     * any.
     */
    private Set<String> candidates(GpuRequest request, Set<String> suited)
            throws IOException, RefusedException {
        MesosPolicy now = policy.get();
        List<Gpu> host = inventory.read().gpus();
        List<Gpu> given = now.givenOf(host, request);
        if (!now.isRestricted() && given.size() == host.size()) {
            return suited;
        }
        Set<String> both =
                given.stream()
                        .map(Gpu::uuid)
                        .filter(uuid -> suited.isEmpty() || suited.contains(uuid))
                        .collect(Collectors.toSet());
        if (both.isEmpty()) {
            throw new RefusedException(
                    "the image can use none of the GPUs that Mesos tasks get (mesos.gpus in the"
                            + " configuration)",
                    "use an image that can ('jnvdocker gpu needs IMAGE' shows what it requires)");
        }
        return both;
    }

    private ProcessId processOf(RuntimeDirectory directory) throws IOException, RefusedException {
        return directory
                .pid()
                .flatMap(processes::find)
                .orElseThrow(() ->
                        new RefusedException(
                                "the Mesos container "
                                        + directory.id()
                                        + ", whose GPUs this container should use, has ended",
                                "start the task again"));
    }

    private static Owner owner(ContainerConfig config) {
        return config.user().isEmpty() ? Owners.of(0) : Owners.named(Quote.shown(config.user()));
    }

    private static String name(String directory, RuntimeDirectory container) {
        Matcher sandbox = SANDBOX.matcher(directory);
        if (!sandbox.matches()) {
            return container.id();
        }
        String nested = sandbox.group(2) == null ? "" : "/" + sandbox.group(2);
        return Quote.shown(sandbox.group(1) + nested);
    }
}
