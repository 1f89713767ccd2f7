package jnvdocker.command.runtime;

import jnvdocker.command.caller.Caller;
import jnvdocker.command.caller.GpuWait;
import jnvdocker.command.caller.HoldTime;
import jnvdocker.container.CompatLibraries;
import jnvdocker.container.ContainerEdits;
import jnvdocker.container.ContainerPlanner;
import jnvdocker.container.DriverCapabilities;
import jnvdocker.container.DriverSearch;
import jnvdocker.container.UserSettings;
import jnvdocker.core.WithheldGpus;
import jnvdocker.grant.Waiting;
import jnvdocker.host.Gpu;
import jnvdocker.labels.DriverVersion;
import jnvdocker.labels.ImageConfig;
import jnvdocker.lease.ClaimNames;
import jnvdocker.lease.Origin;
import jnvdocker.lease.Owner;
import jnvdocker.lease.Request;
import jnvdocker.lease.Requested;
import jnvdocker.lease.text.ContainerLabels;
import jnvdocker.lease.text.ContainerOwner;
import jnvdocker.oci.lease.EditedContainers;
import jnvdocker.oci.lease.OciContainers;
import jnvdocker.oci.lease.OciCreation;
import jnvdocker.oci.root.CudaCompat;
import jnvdocker.oci.root.DriverNames;
import jnvdocker.oci.spec.DockerContainer;
import jnvdocker.oci.spec.RuntimeSpec;
import jnvdocker.oci.spec.SpecEdits;
import jnvdocker.process.StartedProgram;
import jnvdocker.protocol.ClientConnection;
import jnvdocker.protocol.ClientRequest;
import jnvdocker.protocol.ExitCode;
import jnvdocker.request.GpuRequest;
import jnvdocker.use.Observer;
import jnvdocker.volume.GraphicsFile;
import jnvdocker.words.Quote;
import jnvdocker.words.Refusal;
import jnvdocker.words.RefusedException;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermission;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;

/**
 * The data that our runtime has sent about a container that it is to create.
 *
 * @param bundle the engine's directory for it
 * @param pidFile the file to which the real runtime is to write the pid of the first process
 * @param variables as the engine has set them
 * @param docker empty for a container of another engine
 * @param image the image's own configuration, if that is known
 * @param monitor conmon, which has called our runtime for podman or CRI-O
 */
record CreateCall(
        OciContainers.Container container,
        Path bundle,
        Optional<Path> pidFile,
        RuntimeSpec spec,
        Map<String, String> variables,
        Optional<DockerContainer> docker,
        Optional<ImageConfig> image,
        Optional<StartedProgram> monitor,
        ClientRequest request,
        ClientConnection client) {
    private static final Logger LOG = LoggerFactory.getLogger(CreateCall.class);
    private static final String DRIVER = ContainerPlanner.DRIVER_DIRECTORY;
    private static final Pattern HASH = Pattern.compile("[0-9a-f]{64}");

    /** Calls the runtime for podman and CRI-O, which calls a hook. */
    private static final String MONITOR = "conmon";

    private static final Pattern INFRA = Pattern.compile("[0-9a-f]{12}-infra");

    /** The length of an id by which people know a container without another name. */
    private static final int SHORT = 12;

    /** The PATH that docker sets in a container if the image has none (moby: DefaultPathEnv). */
    private static final String DOCKERS_PATH =
            "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

    static Optional<StartedProgram> monitor(
            Optional<DockerContainer> docker, ClientRequest request) {
        return docker.isPresent()
                ? Optional.empty()
                : request.process().flatMap(it -> StartedProgram.ancestor(it, MONITOR));
    }

    String name() {
        return docker.map(DockerContainer::name)
                .or(this::podmansName)
                .orElseGet(() ->
                        HASH.matcher(container.id()).matches()
                                ? container.id().substring(0, SHORT)
                                : container.id());
    }

    private Optional<String> podmansName() {
        return monitor.filter(_ -> !spec.isOfCrio()).flatMap(it -> it.value("-n"));
    }

    /**
     * Whether it keeps the namespaces of a pod of podman's, which gives it the pod's devices, too.
     * Nothing but its name says so.
     */
    boolean isPodmansInfra() {
        return podmansName().filter(INFRA.asMatchPredicate()).isPresent();
    }

    /** Says in the log alone why it has no GPU, since most such containers want none. */
    void noteIfPodmansPrivileged() {
        if (monitor.isPresent() && spec.allowsAllDevices()) {
            LOG.info(
                    "container {} is privileged and gets no GPU: podman gives it every node, so"
                            + " one that its user names cannot be distinguished",
                    Quote.shown(name()));
        }
    }

    /** Publishes the reason why the container runs without a GPU. */
    void withhold(Refusal reason, WithheldGpus withheld) throws IOException {
        LOG.warn("container {}: {}", Quote.shown(name()), reason.message());
        client.message(reason.message());
        withheld.add(
                new WithheldGpus.Withheld(
                        container.id(), Quote.shown(name()), bundle, reason, Instant.now()));
    }

    /**
     * Returns the configuration that the container has from its image and its user, as far as it is
     * known.
     */
    ImageConfig merged() {
        Map<String, String> labels =
                image.map(ImageConfig::labels)
                        .or(() -> docker.map(DockerContainer::labels))
                        .orElse(Map.of());
        return new ImageConfig(labels, spec.environment());
    }

    /** Returns the labels without those of the image, which its author has written. */
    Map<String, String> usersLabels() {
        Map<String, String> labels = new HashMap<>();
        Map<String, String> images = image.map(ImageConfig::labels).orElse(Map.of());
        docker.map(DockerContainer::labels)
                .filter(_ -> image.isPresent())
                .orElse(Map.of())
                .forEach((label, value) -> {
                    if (!value.equals(images.get(label))) {
                        labels.put(label, value);
                    }
                });
        return labels;
    }

    /** The creation of the container with GPUs. */
    OciCreation creation(Owner owner, GpuRequest gpus, Optional<String> reservation)
            throws RefusedException {
        Optional<Duration> time =
                HoldTime.of(
                        "the label " + ClaimNames.TIME_LABEL,
                        Optional.ofNullable(usersLabels().get(ClaimNames.TIME_LABEL)));
        return new OciCreation(
                new Request(
                        Caller.process(request),
                        new Requested(gpus, owner, Set.of(), time),
                        new Origin.OciContainer(container.root(), imageName()),
                        Optional.of(name())),
                container.id(),
                reservation);
    }

    /** The container as an observer of the GPUs. */
    Observer observer(Owner owner) {
        return new Observer(container.id(), name(), imageName(), owner.name(), Instant.now());
    }

    /** The name of its image, if an engine that we know has created it. */
    Optional<String> imageName() {
        return docker.map(DockerContainer::imageName);
    }

    /** The project of compose that it is a service of. */
    Optional<String> project() {
        return Optional.ofNullable(usersLabels().get(ContainerLabels.PROJECT));
    }

    /** Whether Docker's API for users has created it, as far as words depend on that. */
    boolean isOfApi() {
        return usersLabels().containsKey(ContainerOwner.LABEL);
    }

    /** The wait for GPUs that its user requests by a label. */
    Optional<Waiting> waiting() throws RefusedException {
        return GpuWait.ofLabel(
                ClaimNames.WAIT_LABEL,
                usersLabels().getOrDefault(ClaimNames.WAIT_LABEL, ""),
                client);
    }

    /** Answers with the container as it is edited; commands in it get the same variables later. */
    void answer(EditedContainers edited) throws IOException {
        answer(edited, Optional.empty());
    }

    /**
     * Likewise.
     *
     * @param observer empty unless it observes the GPUs
     */
    void answer(EditedContainers edited, Optional<Observer> observer) throws IOException {
        List<EditedContainers.SetVariable> set = new ArrayList<>();
        spec.environment()
                .forEach((name, now) -> {
                    String before = variables.get(name);
                    if (!now.equals(before)) {
                        set.add(new EditedContainers.SetVariable(name, before, now));
                    }
                });
        edited.put(container.id(), bundle, set, observer);
        client.print(spec.toString());
        client.exit(ExitCode.OK);
    }

    /** The container's root as the engine sees it, which may have mounts of its own. */
    private Path root() {
        return Path.of("/proc/" + request.peer().pid() + "/root" + bundle.resolve(spec.rootPath()));
    }

    /** Has the container see its own GPUs alone, unless its runtime could not run the hook. */
    void showAlone(Path hook, List<Gpu> gpus) throws IOException {
        if (mayRun(hook)) {
            SpecEdits.showAlone(spec, hook, bundle, gpus);
        }
    }

    /**
     * Whether a hook of the container finds a program and may run it. The engine may have mounts of
     * its own, and a hook has the rights of the container's root, who may be another user.
     */
    private boolean mayRun(Path program) throws IOException {
        Path seen = Path.of("/proc/" + request.peer().pid() + "/root" + program);
        if (!Files.isRegularFile(seen)) {
            return false;
        }
        for (int i = 0; i < program.getNameCount(); i++) {
            if (!Files.getPosixFilePermissions(seen).contains(PosixFilePermission.OTHERS_EXECUTE)) {
                return false;
            }
            seen = seen.getParent();
        }
        return true;
    }

    /** Whether CUDA libraries of the image's own come before the driver's. */
    Optional<Boolean> hasCompat(DriverVersion loaded) {
        return Optional.of(CompatLibraries.areNamed(spec.environment()) || compat(loaded).isUsed());
    }

    /** The image's libraries of a newer driver, if they fit the loaded one. */
    CompatLibraries compat(DriverVersion loaded) {
        return CudaCompat.of(root(), loaded);
    }

    /** Arranges in the container's root what programs find; returns what is left of the edits. */
    ContainerEdits arrange(ContainerEdits edits) throws IOException {
        Optional<String> unknown = DriverCapabilities.unknown(spec.environment());
        if (unknown.isPresent()) {
            report(unknown.get());
        }
        List<GraphicsFile> files = new ArrayList<>(edits.files());
        files.addAll(arrange(edits.search()));
        return new ContainerEdits(
                edits.devices(),
                edits.mounts(),
                files,
                DriverSearch.NONE,
                edits.environment(),
                edits.labels());
    }

    /**
     * Arranges in the container's root what programs find; returns what must be mounted over files
     * of the image. A root in which that fails keeps the driver at its directory.
     */
    List<GraphicsFile> arrange(DriverSearch search) throws IOException {
        DriverNames.Result result;
        try {
            result = DriverNames.put(root(), search);
        } catch (IOException e) {
            LOG.debug("nothing is written to the root of {}: {}", name(), e.getMessage());
            return List.of();
        }
        boolean usersOwn = docker.filter(it -> it.mounted().contains(DRIVER)).isPresent();
        if (result.hidden().isPresent() && !usersOwn) {
            report(
                    Quote.shown(result.hidden().get())
                            + " of this image is hidden by the driver, which is mounted at "
                            + DRIVER
                            + "; move it elsewhere in the image");
        }
        if (result.obstacle().isPresent()) {
            report(result.obstacle().get().message());
        }
        return result.mounts();
    }

    private void report(String remark) throws IOException {
        LOG.info("container {}: {}", Quote.shown(name()), remark);
        client.message(remark);
    }

    /**
     * Values set by the user stay as they are, as far as they can be distinguished from the
     * image's.
     */
    UserSettings settings() {
        Set<String> variables = new TreeSet<>();
        if (docker.isPresent() && image.isPresent()) {
            Map<String, String> images = image.get().environment();
            docker.get()
                    .environment()
                    .forEach((name, value) -> {
                        boolean dockers = name.equals("PATH") && value.equals(DOCKERS_PATH);
                        if (!dockers && !value.equals(images.get(name))) {
                            variables.add(name);
                        }
                    });
        }
        Set<String> mounted = spec.mountTargets();
        if (docker.filter(it -> it.hasCdi() && !it.mounted().contains(DRIVER)).isPresent()) {
            mounted.remove(DRIVER);
        }
        return new UserSettings(variables, mounted, Set.of());
    }
}
