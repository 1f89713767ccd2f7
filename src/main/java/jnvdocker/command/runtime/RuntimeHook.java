package jnvdocker.command.runtime;

import jnvdocker.command.start.NeedsCheck;
import jnvdocker.container.ContainerPlanner;
import jnvdocker.container.DriverSearch;
import jnvdocker.grant.Leases;
import jnvdocker.grant.OciContainers;
import jnvdocker.grant.OciKeeper;
import jnvdocker.host.DeviceNodes;
import jnvdocker.host.GpuInventory;
import jnvdocker.host.Host;
import jnvdocker.host.HostDriver;
import jnvdocker.labels.GpuNeeds;
import jnvdocker.lease.Lease;
import jnvdocker.lease.text.ContainerOwner;
import jnvdocker.oci.spec.ContainerState;
import jnvdocker.oci.spec.ContainerTexts;
import jnvdocker.oci.spec.GpuWishes;
import jnvdocker.oci.spec.ImageFiles;
import jnvdocker.oci.spec.Majors;
import jnvdocker.oci.spec.RuntimeSpec;
import jnvdocker.posix.FileErrors;
import jnvdocker.protocol.ClientConnection;
import jnvdocker.protocol.ClientRequest;
import jnvdocker.protocol.ExitCode;
import jnvdocker.request.GpuRequest;
import jnvdocker.volume.DriverVolume;
import jnvdocker.volume.ServedVolumes;
import jnvdocker.words.Quote;
import jnvdocker.words.RefusedException;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * {@code runtime hook}: an engine has given a container our CDI devices, with any runtime, which
 * calls their hook before anything runs in the container. It is too late to choose or edit
 * anything: the container gets a lease of exactly these GPUs, or does not start.
 */
public final class RuntimeHook {
    static final String WORD = "hook";

    private static final Logger LOG = LoggerFactory.getLogger(RuntimeHook.class);

    private final Host host;
    private final GpuInventory inventory;
    private final DeviceNodes nodes;
    private final NeedsCheck needsCheck;
    private final ServedVolumes volumes;
    private final Leases leases;
    private final OciContainers containers;
    private final OciKeeper keeper;
    private final GpuWishes wishes;
    private final ContainerOwner owners;
    private final Path claims;
    private final ImageFiles images = new ImageFiles();

    /**
     * @param claims the directory of the claims
     */
    public RuntimeHook(
            Host host,
            GpuInventory inventory,
            DeviceNodes nodes,
            NeedsCheck needsCheck,
            ServedVolumes volumes,
            Leases leases,
            OciContainers containers,
            OciKeeper keeper,
            GpuWishes wishes,
            ContainerOwner owners,
            Path claims) {
        this.host = host;
        this.inventory = inventory;
        this.nodes = nodes;
        this.needsCheck = needsCheck;
        this.volumes = volumes;
        this.leases = leases;
        this.containers = containers;
        this.keeper = keeper;
        this.wishes = wishes;
        this.owners = owners;
        this.claims = claims;
    }

    /**
     * @param words the container's state, as reported by the runtime
     */
    void run(List<String> words, ClientRequest request, ClientConnection client)
            throws IOException {
        String shown = "?";
        try {
            RuntimeCalls.refuseUnless(words.size() == 2);
            RuntimeCalls.refuseOthersThanEngines(request);
            ContainerState state = ContainerState.parse(words.get(1));
            shown = Quote.shown(state.id());
            RuntimeCalls.refuseUnless(RuntimeCalls.isId(state.id()));
            ContainerTexts texts = ContainerTexts.read(state, client::take);
            CreateCall call =
                    new CreateCall(
                            container(state),
                            state.bundle(),
                            Optional.empty(),
                            texts.spec(),
                            texts.spec().environment(),
                            texts.docker(),
                            texts.docker().flatMap(images::of),
                            CreateCall.monitor(texts.docker(), request),
                            request,
                            client);
            try {
                lease(call, state.pid());
                client.exit(ExitCode.OK);
            } catch (RefusedException e) {
                leases.refused(
                        owners.of(call.usersLabels()), "container " + Quote.shown(call.name()), e);
                client.refuseContainer(e.getMessage());
            }
        } catch (RefusedException e) {
            LOG.info("container {} is not started: {}", shown, e.getMessage());
            client.refuseContainer(e.getMessage());
        } catch (IOException e) {
            String why = FileErrors.describe(e);
            LOG.warn("container {} is not started: {}", shown, why);
            client.refuseContainer(why);
        }
    }

    /** A hook does not receive the runtime's root; engines keep their bundles apart as well. */
    private static OciContainers.Container container(ContainerState state) {
        return new OciContainers.Container(
                String.valueOf(state.bundle().toAbsolutePath().getParent()), state.id());
    }

    private void lease(CreateCall call, int init) throws RefusedException, IOException {
        HostDriver driver = inventory.read();
        Set<Integer> present = NamedNodes.minors(driver.gpus());
        Majors majors = new Majors(nodes.gpuMajor(), nodes.otherMajors());
        Set<Integer> given =
                wishes.given(call.spec(), new GpuWishes.World(present, majors, claims));
        if (given.isEmpty()) {
            return;
        }
        GpuRequest request = NamedNodes.of(given, driver.gpus());
        needsCheck.check(
                GpuNeeds.withGpus(call.merged(), Map.of()),
                request,
                driver,
                () -> call.hasCompat(driver.version()),
                call.client());
        refuseAnotherDriver(call.spec(), driver, call.request().peer().pid());
        DriverVolume volume = volumes.volume(host, driver.version());
        Lease lease =
                containers
                        .claim(call.creation(owners.of(call.usersLabels()), request), init)
                        .orElseThrow();
        if (!keeper.begin(lease, init)) {
            containers.cancel(lease);
            throw new RefusedException(
                    "process "
                            + init
                            + " is in no cgroup named after its container, so its end could not be"
                            + " seen",
                    "use an engine that gives each container a cgroup");
        }
        call.arrange(
                new DriverSearch(
                        call.compat(driver.version()),
                        ContainerPlanner.names(volume, call.spec().environment())));
    }

    /** The file may date from before an upgrade, and the engine may not see our mounts. */
    private void refuseAnotherDriver(RuntimeSpec spec, HostDriver driver, int viewer)
            throws RefusedException, IOException {
        String served = volumes.serve(host, driver.version(), viewer).path().toString();
        for (RuntimeSpec.BindMount bind : spec.binds()) {
            if (bind.destination().equals(ContainerPlanner.DRIVER_FOLDER)
                    && !bind.source().equals(served)) {
                throw new RefusedException(
                        "this container is given "
                                + Quote.shown(bind.source())
                                + " for the driver's files, which are at "
                                + served,
                        "run 'jnvdocker runtime install --engine cdi' again");
            }
        }
    }
}
