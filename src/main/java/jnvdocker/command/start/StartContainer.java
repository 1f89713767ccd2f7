package jnvdocker.command.start;

import jnvdocker.command.caller.Caller;
import jnvdocker.command.caller.GpuWait;
import jnvdocker.command.caller.HoldTime;
import jnvdocker.command.caller.SlurmGpus;
import jnvdocker.command.caller.UserEngine;
import jnvdocker.command.caller.UserVariables;
import jnvdocker.container.Allocation;
import jnvdocker.container.CompatLibraries;
import jnvdocker.container.ContainerEdits;
import jnvdocker.container.ContainerPlanner;
import jnvdocker.container.DriverCapabilities;
import jnvdocker.container.MigVariables;
import jnvdocker.container.UserSettings;
import jnvdocker.core.Leases;
import jnvdocker.core.RunClaims;
import jnvdocker.decision.UnavailableException;
import jnvdocker.docker.cli.DockerArguments;
import jnvdocker.docker.cli.DockerCommandLine;
import jnvdocker.docker.cli.RunCommand;
import jnvdocker.docker.cli.Verb;
import jnvdocker.docker.engine.DockerEngine;
import jnvdocker.docker.engine.EngineException;
import jnvdocker.grant.Grant;
import jnvdocker.grant.Waiting;
import jnvdocker.host.GpuInventory;
import jnvdocker.host.HostDriver;
import jnvdocker.labels.GpuNeeds;
import jnvdocker.labels.ImageConfig;
import jnvdocker.lease.Claim;
import jnvdocker.lease.ClaimNames;
import jnvdocker.lease.ObserverPolicy;
import jnvdocker.lease.Origin;
import jnvdocker.lease.Owner;
import jnvdocker.lease.Request;
import jnvdocker.lease.text.Addressee;
import jnvdocker.protocol.CallResult;
import jnvdocker.protocol.ClientConnection;
import jnvdocker.protocol.ClientRequest;
import jnvdocker.request.GpuRequest;
import jnvdocker.volume.GpuHost;
import jnvdocker.words.Quote;
import jnvdocker.words.RefusedException;
import jnvdocker.words.Span;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;
import java.util.function.Supplier;

/**
 * {@code docker run} and {@code docker create}: leads straight from the user's command line to the
 * one that docker is run with.
 */
public final class StartContainer {
    private static final Duration ENGINE_LIMIT = Duration.ofSeconds(20);

    private final GpuHost gpuHost;
    private final GpuInventory inventory;
    private final NeedsCheck needsCheck;
    private final DockerEngine engine;
    private final ContainerPlanner planner;
    private final Leases leases;
    private final Supplier<Settings> settings;

    private final TypedDevices devices;
    private final EngineRuntime runtime;
    private final EngineProof proof;

    /**
     * The lab's configuration of containers.
     *
     * @param defaultGpus for an image that requests GPUs, if its user does not choose any
     * @param envSelects whether a variable of the user's chooses GPUs
     * @param allowPrivileged whether a container with GPUs may be privileged
     * @param observers which containers may observe the GPUs without holding them
     */
    public record Settings(
            GpuRequest defaultGpus,
            boolean envSelects,
            boolean allowPrivileged,
            ObserverPolicy observers) {}

    public StartContainer(
            GpuHost gpuHost,
            NeedsCheck needsCheck,
            DockerEngine engine,
            ContainerPlanner planner,
            Leases leases,
            Supplier<Settings> settings,
            Predicate<String> guarded) {
        this.gpuHost = gpuHost;
        this.inventory = gpuHost.inventory();
        this.needsCheck = needsCheck;
        this.engine = engine;
        this.planner = planner;
        this.leases = leases;
        this.settings = settings;
        this.devices = new TypedDevices(inventory, gpuHost.nodes(), settings);
        this.runtime = new EngineRuntime(engine, guarded);
        this.proof = new EngineProof(engine, leases);
    }

    public void run(ClientRequest request, ClientConnection client)
            throws IOException, RefusedException {
        DockerCommandLine typed =
                DockerCommandLine.parse(request.arguments(), verb -> help(verb, request, client));
        switch (typed) {
            case DockerCommandLine.NotOurs _ ->
                    client.exec(request.dockerWith(request.arguments()));
            case DockerCommandLine.LeaveToDocker(List<String> argv) ->
                    client.exec(request.dockerWith(argv));
            case DockerCommandLine.Help(List<String> argv) -> explain(argv, request, client);
            case RunCommand run -> start(run, request, client);
        }
    }

    /** Prints docker's text in full, then ours. */
    private static void explain(List<String> argv, ClientRequest request, ClientConnection client)
            throws IOException {
        CallResult docker = client.pass(request.dockerWith(argv));
        if (docker.exitCode() == 0) {
            client.print(RunHelp.TEXT);
        }
        client.exit(docker.exitCode());
    }

    private static String help(Verb verb, ClientRequest request, ClientConnection client)
            throws IOException {
        return client.capture(request.dockerWith(List.of(verb.word(), "--help"))).output();
    }

    private void start(RunCommand run, ClientRequest request, ClientConnection client)
            throws IOException, RefusedException {
        try {
            startOrNamePodman(run, request, client);
        } catch (RefusedException e) {
            leases.decisions()
                    .refused(
                            Caller.owner(request),
                            "container of image " + Quote.shown(run.image()),
                            e);
            throw e;
        }
    }

    /**
     * Refuses an engine that has no volumes of jnvdocker's.
     *
     * @param globals docker's global options, which may choose an engine
     */
    void refuseOtherEngine(List<String> globals, ClientRequest request, ClientConnection client)
            throws IOException, RefusedException {
        List<String> words = new ArrayList<>(globals);
        words.addAll(List.of(Verb.RUN.word(), "image"));
        if (DockerCommandLine.parse(words, verb -> help(verb, request, client))
                instanceof RunCommand run) {
            UserEngine where = UserEngine.of(run, request, client, engine);
            proof.refuseOther(run, where, request, client);
        }
    }

    private void startOrNamePodman(RunCommand run, ClientRequest request, ClientConnection client)
            throws IOException, RefusedException {
        try {
            findImage(run, request, client);
        } catch (EngineException e) {
            EngineProof.refusePodmanProgram(request, client);
            throw e;
        }
    }

    private void findImage(RunCommand run, ClientRequest request, ClientConnection client)
            throws IOException, RefusedException {
        refuseCdi(run);
        if (run.hasImageBehindWait()) {
            GpuWait.refuseDuration(run.image());
        }
        UserEngine where = UserEngine.of(run, request, client, engine);
        if (where instanceof UserEngine.Unknown(int exitCode)) {
            client.exit(exitCode);
            return;
        }
        // Paths on another machine are meaningless here.
        TypedGpus typed =
                where instanceof UserEngine.Other other && !other.isSocket()
                        ? TypedGpus.byName(run)
                        : devices.of(run);
        if (run.gpus().isPresent() || !typed.isEmpty()) {
            boolean withGpus = !typed.isEmpty() || isOfGpus(run.gpus().get());
            refuseWhereItCannotWork(run, where, withGpus, request, client);
        }
        switch (new ImageFinder(engine, request, client).find(run, where)) {
            case ImageFinder.Absent _ -> client.exec(request.dockerWith(run.typed()));
            case ImageFinder.NotPulled _ -> client.exec(request.dockerWith(run.pulledInVain()));
            case ImageFinder.Found(ImageConfig image, RunCommand rest) ->
                    startImage(rest, image, typed, where, request, client);
        }
    }

    private void startImage(
            RunCommand run,
            ImageConfig image,
            TypedGpus typed,
            UserEngine where,
            ClientRequest request,
            ClientConnection client)
            throws IOException, RefusedException {
        Map<String, String> variables = new UserVariables(request, client).of(run);
        GpuNeeds needs = GpuNeeds.of(image, variables);
        Optional<Wanted> wanted = wanted(run, typed, request, variables, needs, client);
        if (wanted.isEmpty()) {
            if (needs.implied() && runtime.isPlain(run, where)) {
                client.message(
                        "the image "
                                + run.image()
                                + " has CUDA_VERSION and requests no GPU; request one with --gpus");
            }
            client.exec(request.dockerWith(run.with(List.of())));
            return;
        }
        refuseOtherHost(request.variable("NV_HOST"));
        boolean withGpus = isOfGpus(wanted.get().request());
        refuseWhereItCannotWork(run, where, withGpus, request, client);
        UserSettings userSettings = settings(run, typed, variables);
        if (withGpus) {
            ContainerPlanner.refuseMountAt(RunClaims.DIRECTORY, userSettings);
        }
        Map<String, String> environment = new HashMap<>(image.environment());
        environment.putAll(variables);
        environment.values().removeIf(Objects::isNull);
        MigVariables.refuse(environment, !withGpus || run.privileged());
        Optional<Waiting> waiting =
                GpuWait.of(run.gpuWait(), request, client)
                        .map(it -> it.trying(new StartTrial(run, engine, leases, request, client)));
        Optional<Duration> time = HoldTime.of(run.gpuTime());
        HostDriver driver = inventory.read();
        GpuNeeds checked = needs.gpus() ? needs : GpuNeeds.withGpus(image, variables);
        Optional<String> ours = runtime.ours(run, where);
        // Our runtime, which sees the image's files, decides where it creates the container.
        Supplier<Optional<Boolean>> compat =
                () ->
                        Optional.of(CompatLibraries.areNamed(environment))
                                .filter(_ -> ours.isEmpty());
        Optional<SlurmGpus> job = SlurmGpus.of(request, wanted.get().request(), inventory);
        Set<String> candidates =
                candidates(checked, wanted.get().request(), driver, job, compat, client);
        if (job.isEmpty() && observes(wanted.get().request(), environment, run, request)) {
            if (ours.isEmpty()) {
                throw new RefusedException(
                        "containers of image "
                                + Quote.shown(run.image())
                                + " observe the GPUs (observers), which only jnvdocker's OCI"
                                + " runtime arranges, and this one is not to have it",
                        "run 'jnvdocker runtime install', and choose no other runtime");
            }
            proof.refuseWithoutRuntime(run, ours.get());
            Claim claim = leases.runs().observer(Caller.owner(request), Quote.shown(run.image()));
            becomeWithRuntime(
                    ours.get(),
                    run,
                    labels(Optional.of(claim), wanted.get().request(), time),
                    request,
                    client);
            return;
        }
        if (ours.isPresent()) {
            proof.refuseWithoutRuntime(run, ours.get());
            GpuRequest named = wanted.get().request();
            Request wish =
                    new Request(
                            job.map(it -> it.named(named)).orElse(named),
                            candidates,
                            Caller.owner(request),
                            Caller.process(request),
                            new Origin.OciContainer("", Optional.of(Quote.shown(run.image()))),
                            time);
            try (Grant<Claim> grant = take(wanted.get(), run, wish, waiting)) {
                becomeWithRuntime(
                        ours.get(),
                        run,
                        labels(grant.given(), wish.requested().request(), time),
                        request,
                        client);
                grant.keep();
            }
            return;
        }
        gpuHost.store().build(gpuHost.host(), driver.version());
        ContainerPlanner.Visible visible =
                runtime.isPlain(run, where)
                        ? ContainerPlanner.Visible.UNCHANGED
                        : ContainerPlanner.Visible.VOID;
        Request wish =
                new Request(
                        wanted.get().request(),
                        candidates,
                        Caller.owner(request),
                        Caller.process(request),
                        new Origin.EngineContainer(
                                engine.id(ENGINE_LIMIT), Optional.of(Quote.shown(run.image()))),
                        time);
        try (Grant<Claim> grant = take(wanted.get(), run, wish, waiting)) {
            Optional<Claim> claim = grant.given();
            // The client may have waited for days.
            HostDriver now = inventory.read();
            if (!now.version().equals(driver.version())) {
                candidates(checked, wanted.get().request(), now, job, compat, client);
                gpuHost.store().build(gpuHost.host(), now.version());
            }
            Allocation allocation =
                    claim.isPresent()
                            ? leases.runs().allocation(claim.get(), now.gpus())
                            : Allocation.NONE;
            typed.refuseUnlessAmong(allocation.gpus(), now.gpus());
            Optional<String> unknown = DriverCapabilities.unknown(environment);
            if (unknown.isPresent()) {
                client.message(unknown.get());
            }
            ContainerEdits edits =
                    planner.plan(
                            new ContainerPlanner.Container(
                                    new ImageConfig(image.labels(), environment),
                                    allocation,
                                    userSettings,
                                    now.version(),
                                    visible));
            if (claim.isPresent()) {
                proof.refuseDropping(run, claim.get(), edits);
            }
            client.exec(request.dockerWith(run.with(DockerArguments.of(edits))));
            grant.keep();
        }
    }

    /**
     * The UUIDs of the only GPUs that a container may be given, by its image and the Slurm job that
     * it is started in; empty when it may any.
     */
    private Set<String> candidates(
            GpuNeeds needs,
            GpuRequest request,
            HostDriver driver,
            Optional<SlurmGpus> job,
            Supplier<Optional<Boolean>> compat,
            ClientConnection client)
            throws IOException, RefusedException {
        HostDriver its = job.map(it -> it.only(driver)).orElse(driver);
        Set<String> suited = needsCheck.check(needs, request, its, compat, client);
        return suited.isEmpty() ? job.map(SlurmGpus::uuids).orElse(suited) : suited;
    }

    /** Whether a container observes all GPUs and holds none. */
    private boolean observes(
            GpuRequest wanted,
            Map<String, String> environment,
            RunCommand run,
            ClientRequest request) {
        boolean named = settings.get().observers().names(Optional.of(run.image()));
        return (named || DriverCapabilities.onlyObserve(environment))
                && mayObserve(wanted, run.image(), Caller.owner(request));
    }

    private boolean mayObserve(GpuRequest wanted, String image, Owner owner) {
        return wanted instanceof GpuRequest.All
                && settings.get().observers().allows(Optional.of(image), owner);
    }

    /**
     * Our OCI runtime gives the container its GPUs, whenever it is started: docker gets nothing but
     * labels.
     */
    private static void becomeWithRuntime(
            String name,
            RunCommand run,
            List<String> labels,
            ClientRequest request,
            ClientConnection client)
            throws IOException, RefusedException {
        List<String> options = new ArrayList<>();
        if (run.runtime().isEmpty()) {
            options.add("--runtime=" + name);
        }
        labels.forEach(label -> options.add("--label=" + label));
        client.exec(request.dockerWith(run.with(options)));
    }

    /**
     * The claim, which names the owner and the request, and for how long. The request is there as
     * well, for the day when the registry is lost that knows the claim.
     */
    private static List<String> labels(
            Optional<Claim> claim, GpuRequest request, Optional<Duration> time) {
        List<String> labels = new ArrayList<>();
        claim.ifPresent(it -> labels.add(ClaimNames.CLAIM_LABEL + "=" + it.key().text()));
        labels.add(
                ClaimNames.GPUS_LABEL
                        + "="
                        + (claim.isPresent() ? request : new GpuRequest.None()));
        time.ifPresent(it -> labels.add(ClaimNames.TIME_LABEL + "=" + Span.spelled(it)));
        return labels;
    }

    /**
     * @param byDefault whether the user has not mentioned GPUs
     */
    private record Wanted(GpuRequest request, boolean byDefault) {
        static Optional<Wanted> typed(Optional<GpuRequest> request) {
            return request.map(it -> new Wanted(it, false));
        }
    }

    private Grant<Claim> take(
            Wanted wanted, RunCommand run, Request request, Optional<Waiting> waiting)
            throws RefusedException, IOException {
        try {
            return leases.runs().take(request.named(run.name()), waiting);
        } catch (UnavailableException e) {
            if (mayObserve(wanted.request(), run.image(), request.requested().owner())) {
                throw e.advising(ObserverPolicy.REMEDY_IF_ALLOWED);
            }
            throw wanted.byDefault() ? e.to(new Addressee.ByDefault(wanted.request(), false)) : e;
        }
    }

    /**
     * Returns the requested GPUs, or empty if neither the user nor the image requests any. An
     * option always counts; NV_GPU only chooses among GPUs that the image requests.
     */
    private Optional<Wanted> wanted(
            RunCommand run,
            TypedGpus typed,
            ClientRequest request,
            Map<String, String> variables,
            GpuNeeds needs,
            ClientConnection client)
            throws IOException, RefusedException {
        if (!typed.isEmpty()) {
            return Wanted.typed(Optional.of(typed.with(run.gpus(), inventory.read().gpus())));
        }
        if (run.gpus().isPresent()) {
            return Wanted.typed(run.gpus());
        }
        Optional<String> visible = Optional.ofNullable(variables.get(GpuRequest.VISIBLE_DEVICES));
        if (visible.isPresent()) {
            return Wanted.typed(visible(visible.get()));
        }
        String variable = request.variable("NV_GPU");
        if (needs.gpus()) {
            GpuRequest byDefault =
                    needs.driverAlone() ? new GpuRequest.None() : settings.get().defaultGpus();
            return Wanted.typed(GpuRequest.parseVariable(variable))
                    .or(() -> Optional.of(new Wanted(byDefault, true)));
        }
        if (!variable.isBlank()) {
            client.message(
                    "NV_GPU is not used: the image "
                            + run.image()
                            + " needs no GPU; request one with --gpus");
        }
        return Optional.empty();
    }

    /** Parses a variable of the container that its user sets. */
    private Optional<GpuRequest> visible(String value) throws RefusedException {
        Optional<GpuRequest> request = GpuRequest.parseVisibleDevices(value);
        if (request.isPresent() && !settings.get().envSelects()) {
            throw new RefusedException(
                    "a variable does not select GPUs here (env_selects), and --env sets "
                            + GpuRequest.VISIBLE_DEVICES,
                    "request GPUs with --gpus");
        }
        return request;
    }

    private static void refuseCdi(RunCommand run) throws RefusedException {
        if (!run.cdiDevices().isEmpty()) {
            String device = run.cdiDevices().getFirst();
            throw new RefusedException(
                    "--device " + device + " makes the engine hand out a GPU without jnvdocker",
                    "use --gpus device="
                            + device.substring(device.indexOf('=') + 1)
                            + ", or docker itself");
        }
    }

    private static boolean isOfGpus(GpuRequest request) {
        return !(request instanceof GpuRequest.None);
    }

    private void refuseWhereItCannotWork(
            RunCommand run,
            UserEngine where,
            boolean withGpus,
            ClientRequest request,
            ClientConnection client)
            throws IOException, RefusedException {
        proof.refuseOther(run, where, request, client);
        if (withGpus && run.privileged() && !settings.get().allowPrivileged()) {
            throw new RefusedException(
                    "--privileged opens GPUs that others hold",
                    "use --cap-add or --device instead, or have an administrator set"
                            + " allow_privileged = true");
        }
    }

    /**
     * {@code NV_HOST} named a host with a daemon of nvidia-docker 1.0, which reported to clients on
     * other hosts the devices and the volume to use.
     */
    private static void refuseOtherHost(String name) throws RefusedException {
        if (!name.isEmpty()) {
            throw new RefusedException(
                    "NV_HOST="
                            + Quote.shown(name)
                            + " names another host, whose GPUs cannot be given out from here",
                    "run jnvdocker on that host, as by ssh, or unset NV_HOST to use this host's");
        }
    }

    private static UserSettings settings(
            RunCommand run, TypedGpus typed, Map<String, String> variables) {
        return new UserSettings(variables.keySet(), Set.copyOf(run.mountTargets()), typed.nodes());
    }
}
