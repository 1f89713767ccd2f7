package jnvdocker.command.runtime;

import jnvdocker.container.Allocation;
import jnvdocker.container.ContainerEdits;
import jnvdocker.container.ContainerPlanner;
import jnvdocker.container.DriverCapabilities;
import jnvdocker.container.MigVariables;
import jnvdocker.container.VolumeMount;
import jnvdocker.core.Leases;
import jnvdocker.decision.UnavailableException;
import jnvdocker.grant.FirstScan;
import jnvdocker.grant.Grant;
import jnvdocker.holder.ContainerEngine;
import jnvdocker.host.Gpu;
import jnvdocker.host.HostDriver;
import jnvdocker.lease.ClaimKey;
import jnvdocker.lease.Lease;
import jnvdocker.lease.ObserverPolicy;
import jnvdocker.lease.text.Addressee;
import jnvdocker.oci.lease.EditedContainers;
import jnvdocker.oci.lease.OciContainers;
import jnvdocker.oci.lease.OciCreation;
import jnvdocker.oci.spec.DockerContainer;
import jnvdocker.oci.spec.GpuWish;
import jnvdocker.oci.spec.GraphicsNodes;
import jnvdocker.oci.spec.ImageFiles;
import jnvdocker.oci.spec.Majors;
import jnvdocker.oci.spec.RuntimeSpec;
import jnvdocker.oci.spec.SpecEdits;
import jnvdocker.posix.FileErrors;
import jnvdocker.protocol.ClientConnection;
import jnvdocker.protocol.ClientRequest;
import jnvdocker.protocol.ExitCode;
import jnvdocker.request.GpuRequest;
import jnvdocker.use.Observer;
import jnvdocker.volume.GpuHost;
import jnvdocker.words.Quote;
import jnvdocker.words.Refusal;
import jnvdocker.words.RefusedException;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.IOException;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.BooleanSupplier;
import java.util.stream.Collectors;

/**
 * {@code runtime create}: an engine has our OCI runtime create a container, and the runtime
 * requests instructions. Leads straight from the engine's texts about the container to its {@code
 * config.json}. The engine waits meanwhile, and must not be queried.
 */
public final class RuntimeCreate {
    static final String WORD = "create";

    private static final Logger LOG = LoggerFactory.getLogger(RuntimeCreate.class);

    private final OciParts parts;
    private final GpuHost gpuHost;
    private final Leases leases;
    private final OciContainers containers;
    private final ContainerPlanner planner;
    private final EditedContainers edited;
    private final RefusedCreation refusedCreation;
    private final Path hook;
    private final RefusedWaits refusedWaits;
    private final PodContainers pods;
    private final ImageFiles images = new ImageFiles();
    private final Projects projects = new Projects();

    /**
     * @param refusedWaits the refusals of starts that have waited
     * @param engine the engine; while it starts, its containers start by themselves
     * @param pods the pods of Kubernetes with containers that get their GPUs from a device plugin
     */
    public RuntimeCreate(
            OciParts parts,
            ContainerPlanner planner,
            EditedContainers edited,
            RefusedWaits refusedWaits,
            ContainerEngine engine,
            Programs programs,
            PodContainers.Pods pods) {
        this.parts = parts;
        this.gpuHost = parts.gpuHost();
        this.leases = parts.leases();
        this.containers = parts.containers();
        this.planner = planner;
        this.edited = edited;
        this.refusedWaits = refusedWaits;
        this.refusedCreation =
                new RefusedCreation(programs.retries(), engine::hasStarted, programs.refused());
        this.hook = programs.hook();
        this.pods = new PodContainers(gpuHost, parts.wishes(), pods);
    }

    /**
     * Our programs that run in containers.
     *
     * @param retries whether the restart policy of a container that is refused its GPUs is to try
     *     again
     * @param refused the program that prints the reason then, in a directory of its own
     * @param hook our runtime, which shows a container its own GPUs by another name
     */
    public record Programs(BooleanSupplier retries, Path refused, Path hook) {}

    /**
     * @param words the id, the bundle, the pid file, the real runtime's root, and the three texts
     */
    void run(List<String> words, ClientRequest request, ClientConnection client)
            throws IOException {
        String id = Quote.shown(words.size() > 1 ? words.get(1) : "");
        try {
            RuntimeCalls.refuseUnless(words.size() == 8 && RuntimeCalls.isId(words.get(1)));
            RuntimeCalls.refuseOthersThanEngines(request);
            SeenHost.Look look = SeenHost.look(gpuHost, containers);
            CreateCall call = call(words, request, client);
            edited.forget(words.get(1));
            try {
                create(call, look.seen());
            } catch (RefusedException e) {
                refuse(call, words.get(5), e);
            } catch (IOException e) {
                LOG.warn("container {} is not created: {}", id, FileErrors.describe(e));
                refuse(call, words.get(5), new RefusedException(FileErrors.refusal(e)));
            }
        } catch (RefusedException e) {
            LOG.info("container {} is not created: {}", id, e.getMessage());
            client.refuseContainer(e.getMessage());
        } catch (IOException e) {
            String why = FileErrors.describe(e);
            LOG.warn("container {} is not created: {}", id, why);
            client.refuseContainer(why);
        }
    }

    private void refuse(CreateCall call, String config, RefusedException why)
            throws RefusedException, IOException {
        parts.refused(call, why);
        refusedCreation.answer(call, config, why.getMessage());
    }

    private CreateCall call(List<String> words, ClientRequest request, ClientConnection client)
            throws RefusedException, IOException {
        client.take(RuntimeSpec.memory(words.get(5)));
        RuntimeSpec spec = RuntimeSpec.parse(words.get(5));
        Optional<DockerContainer> docker = DockerContainer.parse(spec, words.get(6), words.get(7));
        return new CreateCall(
                new OciContainers.Container(words.get(4), words.get(1)),
                Path.of(words.get(2)),
                Optional.of(words.get(3)).filter(it -> it.startsWith("/")).map(Path::of),
                spec,
                spec.environment(),
                docker,
                images.of(docker, spec, words.get(1)),
                CreateCall.monitor(docker, request),
                request,
                client);
    }

    private void create(CreateCall call, SeenHost seen) throws RefusedException, IOException {
        List<Gpu> gpus = seen.gpus();
        Majors majors = seen.majors();
        Optional<RuntimeSpec.Pod> pod = pods.of(call);
        if (pod.isPresent()) {
            createForPod(pods.gpus(pod.get(), call.spec(), gpus, majors), call, seen);
            return;
        }
        create(parts.wish(call, gpus, majors), call, seen);
    }

    private void create(GpuWish wish, CreateCall call, SeenHost seen)
            throws RefusedException, IOException {
        List<Gpu> gpus = seen.gpus();
        Majors majors = seen.majors();
        switch (wish) {
            case GpuWish.Observing(GpuWish otherwise) -> observe(otherwise, call, seen);
            case GpuWish.ClaimVolume(String claim) -> refuseOthersThan(claim, call, gpus, majors);
            case GpuWish.Nothing _ -> startWithout(call, majors);
            case GpuWish.Withheld(Refusal reason) -> {
                call.withhold(reason, leases.withheld());
                startWithout(call, majors);
            }
            case GpuWish.Nodes(Set<Integer> minors, GpuWish.Source source) ->
                    give(parts.creation(call, NamedNodes.of(minors, gpus)), call, source, seen);
            case GpuWish.Gpus(
                            GpuRequest request,
                            GpuWish.Source source,
                            Set<Integer> named,
                            List<String> capabilities) -> {
                SpecEdits.setCapabilities(call.spec(), capabilities);
                give(
                        parts.creation(call, NamedNodes.with(request, named, gpus)),
                        call,
                        source,
                        seen);
            }
            case GpuWish.Claimed(ClaimKey claim, GpuRequest request, Set<Integer> named) ->
                    give(
                            parts.claimed(claim, call, NamedNodes.with(request, named, gpus)),
                            call,
                            GpuWish.Source.CLAIM,
                            seen);
        }
    }

    /**
     * Gives a container all GPUs to observe, whoever holds them, if an administrator allows it;
     * else it has to hold them all.
     */
    private void observe(GpuWish otherwise, CreateCall call, SeenHost seen)
            throws RefusedException, IOException {
        Optional<OciCreation> creation = parts.observing(otherwise, call);
        if (creation.isEmpty()) {
            try {
                create(otherwise, call, seen);
            } catch (UnavailableException e) {
                throw e.advising(ObserverPolicy.remedy(call.imageName()));
            }
            return;
        }
        if (otherwise instanceof GpuWish.Gpus(_, _, _, List<String> capabilities)) {
            SpecEdits.setCapabilities(call.spec(), capabilities);
        }
        if (!DriverCapabilities.onlyObserve(call.spec().environment())) {
            SpecEdits.setCapabilities(call.spec(), DriverCapabilities.OBSERVER);
        }
        HostDriver driver = seen.loaded(gpuHost);
        MigVariables.refuse(call.spec().environment(), call.spec().allowsAllDevices());
        parts.check(call, new GpuRequest.All(), driver);
        edit(
                call,
                driver,
                served(call, driver),
                Allocation.observing(driver.gpus().stream().filter(Gpu::isIdentified).toList()),
                Optional.empty(),
                creation.map(it -> call.observer(it.request().requested().owner())),
                seen.majors());
        LOG.info("container {} observes the GPUs", Quote.shown(call.name()));
    }

    /** The container's pod holds the lease. */
    private void createForPod(List<Gpu> gpus, CreateCall call, SeenHost seen)
            throws RefusedException, IOException {
        if (gpus.isEmpty()) {
            startWithout(call, seen.majors());
            return;
        }
        HostDriver driver = seen.driver().orElseThrow();
        parts.check(call, new GpuRequest.Devices(gpus.stream().map(Gpu::uuid).toList()), driver);
        Allocation allocation = new Allocation(gpus, List.of(), Map.of());
        edit(
                call,
                driver,
                served(call, driver),
                allocation,
                Optional.empty(),
                Optional.empty(),
                seen.majors());
    }

    /** Privileged containers see all GPUs only if the configuration allows that. */
    private void startWithout(CreateCall call, Majors majors) throws IOException {
        boolean seesAll = call.spec().allowsAllDevices() && parts.wishes().allowPrivileged();
        if (!seesAll && call.spec().hasNvidia(majors)) {
            call.noteIfPodmansPrivileged();
            SpecEdits.withoutGpus(call.spec(), majors, call.docker());
            call.answer(edited);
        } else {
            call.client().exit(ExitCode.OK);
        }
    }

    /** A container with a lease from the mount of its claim may have those GPUs alone. */
    private void refuseOthersThan(String claim, CreateCall call, List<Gpu> gpus, Majors majors)
            throws RefusedException, IOException {
        Lease lease = leases.releases().live(claim);
        Set<Integer> its =
                lease.claim().gpus().stream().map(gpu -> gpu.minor()).collect(Collectors.toSet());
        Set<Integer> present = NamedNodes.minors(gpus);
        Set<Integer> others = new TreeSet<>(call.spec().gpuMinors(majors.gpu(), present));
        others.addAll(GraphicsNodes.named(call.spec(), call.docker(), majors));
        others.removeAll(its);
        if (!others.isEmpty()) {
            throw new RefusedException(
                    "this container has the claim %s and is given %s besides"
                            .formatted(claim, NamedNodes.nodes(others)),
                    "create it again with 'jnvdocker run' and all of its GPUs in --gpus");
        }
        if (GraphicsNodes.leaveOut(call.spec(), majors, its)) {
            call.answer(edited);
            return;
        }
        call.client().exit(ExitCode.OK);
    }

    private Grant<Lease> take(
            OciCreation creation, CreateCall call, GpuWish.Source source, FirstScan scan)
            throws RefusedException, IOException {
        // A label that is no wait is refused before anything is given.
        boolean waits = creation.isOfGpus() && call.waiting().isPresent();
        // Of this start: one that is served leaves none to the next.
        Optional<RefusedException> ofWait = refusedWaits.take(call.container().id());
        projects.remember(call);
        try {
            return containers.take(creation, scan);
        } catch (UnavailableException e) {
            if (ofWait.isPresent()) {
                throw ofWait.get();
            }
            if (parts.mayObserve(creation, call)) {
                throw e.advising(ObserverPolicy.REMEDY_IF_ALLOWED);
            }
            UnavailableException its =
                    e.to(
                            switch (source) {
                                case IMAGE -> new Addressee.ByDefault(creation.gpus(), true);
                                case SWARM -> Addressee.SWARM;
                                default -> projects.userOf(call, creation);
                            });
            // A task of Swarm's is started by the engine, whatever its labels.
            throw waits && source != GpuWish.Source.SWARM ? its.advising(parts.toWait()) : its;
        }
    }

    private void give(OciCreation creation, CreateCall call, GpuWish.Source source, SeenHost seen)
            throws RefusedException, IOException {
        HostDriver driver = seen.loaded(gpuHost);
        MigVariables.refuse(call.spec().environment(), call.spec().allowsAllDevices());
        Set<String> candidates = parts.check(call, creation.gpus(), driver);
        // While the scan for uses of the GPUs runs.
        Path served = served(call, driver);
        try (Grant<Lease> grant = take(creation.among(candidates), call, source, seen.scan())) {
            Optional<Lease> lease = grant.given();
            Allocation allocation =
                    lease.isPresent()
                            ? leases.runs().allocation(lease.get().claim(), driver.gpus())
                            : Allocation.NONE;
            edit(call, driver, served, allocation, lease, Optional.empty(), seen.majors());
            LOG.debug("container {} gets its GPUs by {}", call.name(), source.words());
            grant.keep().ifPresent(it -> parts.keeper().follow(it, call.pidFile()));
        }
    }

    /** The directory of the driver's files, as the engine sees it. */
    private Path served(CreateCall call, HostDriver driver) throws IOException {
        return gpuHost.served(driver, call.request().peer().pid());
    }

    private void edit(
            CreateCall call,
            HostDriver driver,
            Path served,
            Allocation allocation,
            Optional<Lease> lease,
            Optional<Observer> observer,
            Majors majors)
            throws RefusedException, IOException {
        ContainerEdits edits =
                planner.plan(
                        new ContainerPlanner.Container(
                                call.merged(),
                                allocation,
                                call.settings(),
                                driver.version(),
                                ContainerPlanner.Visible.UUIDS),
                        gpuHost.served().volume(gpuHost.host(), driver.version()),
                        call.compat(driver.version()));
        Map<VolumeMount, Path> directories = new HashMap<>();
        for (VolumeMount mount : edits.mounts()) {
            directories.put(
                    mount,
                    allocation.mounts().contains(mount)
                            ? containers.directory(lease.get().claim())
                            : served);
        }
        edits = call.arrange(edits);
        Set<Integer> held =
                allocation.gpus().stream().map(gpu -> gpu.minor()).collect(Collectors.toSet());
        GraphicsNodes.leaveOut(call.spec(), majors, held);
        SpecEdits.apply(
                call.spec(),
                edits,
                directories,
                served,
                majors,
                call.docker(),
                lease.map(it -> it.claim().id()));
        call.showAlone(hook, allocation.gpus());
        lease.ifPresent(parts.keeper()::remember);
        call.answer(edited, observer);
    }
}
