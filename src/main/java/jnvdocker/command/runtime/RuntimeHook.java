package jnvdocker.command.runtime;

import jnvdocker.container.ContainerPlanner;
import jnvdocker.container.DriverSearch;
import jnvdocker.grant.Grant;
import jnvdocker.host.HostDriver;
import jnvdocker.lease.Lease;
import jnvdocker.oci.lease.OciContainers;
import jnvdocker.oci.spec.ContainerState;
import jnvdocker.oci.spec.ContainerTexts;
import jnvdocker.oci.spec.ImageFiles;
import jnvdocker.oci.spec.Majors;
import jnvdocker.oci.spec.RuntimeSpec;
import jnvdocker.posix.FileErrors;
import jnvdocker.protocol.ClientConnection;
import jnvdocker.protocol.ClientRequest;
import jnvdocker.protocol.ExitCode;
import jnvdocker.request.GpuRequest;
import jnvdocker.volume.DriverVolume;
import jnvdocker.volume.GpuHost;
import jnvdocker.words.Quote;
import jnvdocker.words.RefusedException;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.IOException;
import java.util.List;
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

    private final OciParts parts;
    private final GpuHost gpuHost;
    private final OciContainers containers;
    private final ImageFiles images = new ImageFiles();

    public RuntimeHook(OciParts parts) {
        this.parts = parts;
        this.gpuHost = parts.gpuHost();
        this.containers = parts.containers();
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
                            images.of(texts.docker(), texts.spec(), state.id()),
                            CreateCall.monitor(texts.docker(), request),
                            request,
                            client);
            try {
                lease(call, state.pid());
                client.exit(ExitCode.OK);
            } catch (RefusedException e) {
                parts.refused(call, e);
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
        HostDriver driver = gpuHost.inventory().read();
        Majors majors = SeenHost.majors(gpuHost.nodes(), driver.gpus());
        Set<Integer> given = parts.wishes().given(call.spec(), parts.world(driver.gpus(), majors));
        if (given.isEmpty()) {
            return;
        }
        GpuRequest request = NamedNodes.of(given, driver.gpus());
        parts.check(call, request, driver);
        refuseAnotherDriver(call.spec(), driver, call.request().peer().pid());
        DriverVolume volume = gpuHost.served().volume(gpuHost.host(), driver.version());
        try (Grant<Lease> grant = containers.take(parts.creation(call, request), init)) {
            if (!parts.keeper().begin(grant.given().orElseThrow(), init)) {
                throw new RefusedException(
                        "process "
                                + init
                                + " is in no cgroup named after its container, so its end could not"
                                + " be seen",
                        "use an engine that gives each container a cgroup");
            }
            grant.keep();
        }
        call.arrange(
                new DriverSearch(
                        call.compat(driver.version()),
                        ContainerPlanner.names(volume, call.spec().environment())));
    }

    /** The file may date from before an upgrade, and the engine may not see our mounts. */
    private void refuseAnotherDriver(RuntimeSpec spec, HostDriver driver, int viewer)
            throws RefusedException, IOException {
        String served = gpuHost.served(driver, viewer).toString();
        for (RuntimeSpec.BindMount bind : spec.binds()) {
            if (bind.destination().equals(ContainerPlanner.DRIVER_DIRECTORY)
                    && !bind.source().equals(served)) {
                throw new RefusedException(
                        "this container is given %s for the driver's files, which are at %s"
                                .formatted(Quote.shown(bind.source()), served),
                        "run 'jnvdocker runtime install --engine cdi' again");
            }
        }
    }
}
