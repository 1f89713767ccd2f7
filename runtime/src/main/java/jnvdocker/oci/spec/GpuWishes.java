package jnvdocker.oci.spec;

import jnvdocker.labels.GpuNeeds;
import jnvdocker.labels.ImageConfig;
import jnvdocker.lease.ClaimKey;
import jnvdocker.lease.ClaimNames;
import jnvdocker.lease.ObserverPolicy;
import jnvdocker.registry.ClaimFiles;
import jnvdocker.request.GpuRequest;
import jnvdocker.request.InvalidGpuRequestException;
import jnvdocker.words.Quote;
import jnvdocker.words.Refusal;
import jnvdocker.words.RefusedException;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Supplier;

/**
 * Decides what a container requests. The first of these counts: what it has of us, what its user
 * says, docker's own request, the devices that it is given, what its image needs. What an image
 * says is never taken for its user's word.
 */
public final class GpuWishes {
    private final Supplier<Settings> settings;
    private final String driver;
    private final Supplier<Optional<String>> standardRuntime;

    /**
     * The lab's settings.
     *
     * @param envSelects whether a variable of the user's says which GPUs
     * @param imagesGetNone whether an image that needs GPUs gets none unless something else
     *     requests them
     * @param defaultGpus the GPUs that it gets otherwise
     * @param allMeans the GPUs for a request of all
     * @param swarmResources names of Swarm's generic resources that are GPUs
     * @param observers which containers may observe the GPUs
     */
    public record Settings(
            boolean envSelects,
            boolean imagesGetNone,
            GpuRequest defaultGpus,
            GpuRequest allMeans,
            boolean allowPrivileged,
            Set<String> swarmResources,
            ObserverPolicy observers) {
        public Settings {
            swarmResources = Set.copyOf(swarmResources);
        }

        /** The GPUs for such a request. */
        GpuRequest means(GpuRequest request) {
            return request instanceof GpuRequest.All ? allMeans : request;
        }
    }

    /** The claims that were made for containers. */
    @FunctionalInterface
    public interface Claims {
        /** A claim; empty when it is not that container's. */
        Optional<Made> of(ClaimKey claim) throws IOException;

        /** Whether the registry knows a claim of that id, whoever has it. */
        default boolean isKnown(ClaimKey claim) throws IOException {
            return true;
        }
    }

    /**
     * A claim that was made for a container.
     *
     * @param namesIt whether it names the container; else the label of any image may name it
     */
    public record Made(GpuRequest request, boolean namesIt) {}

    /**
     * The GPUs of the host.
     *
     * @param minors of those that it has
     * @param claims the directory of our claims
     */
    public record World(Set<Integer> minors, Majors majors, Path claims) {
        public World {
            minors = Set.copyOf(minors);
        }
    }

    /**
     * @param driver the name by which docker knows the driver of claims' volumes
     * @param standardRuntime the runtime that docker's containers get unless their user names one,
     *     if known
     */
    public GpuWishes(
            Supplier<Settings> settings,
            String driver,
            Supplier<Optional<String>> standardRuntime) {
        this.settings = settings;
        this.driver = driver;
        this.standardRuntime = standardRuntime;
    }

    /** Whether a container with GPUs may be privileged, and so see them all. */
    public boolean allowPrivileged() {
        return settings.get().allowPrivileged();
    }

    /**
     * @param image the image's own configuration; empty when it is not known
     * @throws RefusedException for what cannot be read, does not go together, or is not allowed
     */
    public GpuWish of(
            RuntimeSpec spec,
            Optional<DockerContainer> docker,
            Optional<ImageConfig> image,
            World world,
            Claims claims)
            throws RefusedException, IOException {
        Optional<String> mounted =
                docker.flatMap(container -> mounted(spec, container, world.claims()));
        boolean all = spec.allowsAllDevices();
        if (mounted.isPresent()) {
            if (all) {
                refusePrivileged();
            }
            return new GpuWish.ClaimVolume(mounted.get());
        }
        Set<Integer> given = GivenNodes.given(spec, docker, world);
        if (spec.isSandbox() && docker.isEmpty() && given.isEmpty()) {
            return new GpuWish.Nothing();
        }
        UsersWords words =
                new UsersWords(spec, docker, image, settings.get(), namesRuntime(docker));
        Set<Integer> named =
                docker.isPresent()
                        ? GivenNodes.named(spec, docker.get(), given, world.majors())
                        : given;
        Optional<GpuWish> wish = requested(spec, docker, words, claims, named);
        if (wish.isEmpty() && !given.isEmpty()) {
            wish = Optional.of(new GpuWish.Nodes(given, GpuWish.Source.NODE));
        }
        if (wish.isEmpty()) {
            wish = words.swarm();
        }
        if (wish.isEmpty()) {
            wish = words.mounts();
        }
        if (wish.isEmpty()) {
            wish = words.visible();
        }
        if (wish.isEmpty()) {
            wish = ofImage(spec, docker, image, words);
        }
        boolean observes = settings.get().observers().names(docker.map(DockerContainer::imageName));
        wish = wish.map(it -> AllGpus.meant(it, spec.environment(), observes, settings.get()));
        if (all) {
            if (wish.filter(GpuWishes::isOfGpus).isPresent()) {
                refusePrivileged();
            } else {
                wish = wish.filter(GpuWish.Withheld.class::isInstance);
            }
        }
        return wish.or(() -> withheld(spec, docker, world.majors(), words))
                .orElseGet(GpuWish.Nothing::new);
    }

    /**
     * Whether docker's user has requested our runtime, which every container has as the default.
     */
    private boolean namesRuntime(Optional<DockerContainer> docker) {
        Optional<String> standard = standardRuntime.get();
        return docker.isPresent()
                && standard.filter(it -> !it.equals(docker.get().runtime())).isPresent();
    }

    /** The wish of a container that concerns GPUs and requests none. */
    private static Optional<GpuWish> withheld(
            RuntimeSpec spec, Optional<DockerContainer> docker, Majors majors, UsersWords words) {
        Optional<Refusal> nodes =
                spec.allowsAllDevices()
                        ? Optional.empty()
                        : NvidiaParts.nodes(spec, majors).stream()
                                .filter(node ->
                                        docker.map(it -> it.devices().contains(node)).orElse(true))
                                .findFirst()
                                .map(node ->
                                        new Refusal(
                                                "this container does not get "
                                                        + Quote.shown(node)
                                                        + ", since it requests no GPU",
                                                words.howToRequest()));
        return words.ignored().or(() -> nodes).map(GpuWish.Withheld::new);
    }

    /**
     * The minors of the GPUs whose nodes an engine has given a container, for which nothing can be
     * chosen any more.
     *
     * @throws RefusedException for one that is privileged, unless that is allowed
     */
    public Set<Integer> given(RuntimeSpec spec, World world) throws RefusedException {
        if (spec.allowsAllDevices()) {
            refusePrivileged();
        }
        return GivenNodes.given(spec, Optional.empty(), world);
    }

    private static boolean isOfGpus(GpuWish wish) {
        return switch (wish) {
            case GpuWish.Gpus(GpuRequest request, _, _, _) -> !(request instanceof GpuRequest.None);
            case GpuWish.Claimed(_, GpuRequest request, _) -> !(request instanceof GpuRequest.None);
            case GpuWish.Nodes _, GpuWish.ClaimVolume _, GpuWish.Observing _ -> true;
            case GpuWish.Nothing _, GpuWish.Withheld _ -> false;
        };
    }

    /**
     * The claim whose volume docker has mounted, for which it has a lease. A bind mount of the same
     * directory gives none.
     */
    private Optional<String> mounted(RuntimeSpec spec, DockerContainer docker, Path claims) {
        for (RuntimeSpec.BindMount bind : spec.binds()) {
            String target = RuntimeSpec.normal(bind.destination());
            Optional<String> claim =
                    docker.volume(target, driver).flatMap(ClaimNames::ofVolume).map(ClaimKey::id);
            Optional<String> source =
                    claim.map(id -> claims.resolve(id).resolve(ClaimFiles.MOUNTED).toString());
            if (source.filter(RuntimeSpec.normal(bind.source())::equals).isPresent()) {
                return claim;
            }
        }
        return Optional.empty();
    }

    /** The wish that a user has expressed to us, or to docker. */
    private Optional<GpuWish> requested(
            RuntimeSpec spec,
            Optional<DockerContainer> docker,
            UsersWords words,
            Claims claims,
            Set<Integer> named)
            throws RefusedException, IOException {
        Optional<GpuWish> claimed = claimed(words, claims, named);
        if (claimed.isPresent()) {
            return claimed;
        }
        Optional<String> label = words.label(ClaimNames.GPUS_LABEL);
        if (label.isPresent()) {
            return said(label.get(), GpuWish.Source.LABEL, named);
        }
        Optional<String> annotation = words.annotation(ClaimNames.GPUS_LABEL);
        if (annotation.isPresent()) {
            return said(annotation.get(), GpuWish.Source.ANNOTATION, named);
        }
        Optional<String> variable = words.variable(UsersWords.VARIABLE);
        if (variable.filter(it -> !it.isBlank()).isPresent()) {
            return said(variable.get(), GpuWish.Source.VARIABLE, named);
        }
        return docker.isPresent()
                ? DeviceRequests.of(docker.get().requests(), spec.allowsAllDevices())
                        .map(request ->
                                new GpuWish.Gpus(request, GpuWish.Source.DEVICE_REQUEST, named))
                : Optional.empty();
    }

    /** The wish of the claim in a label, which counts only if it cannot be the image's own. */
    private static Optional<GpuWish> claimed(UsersWords words, Claims claims, Set<Integer> named)
            throws RefusedException, IOException {
        Optional<String> users = words.label(ClaimNames.CLAIM_LABEL);
        Optional<String> label = users.or(() -> words.unclearLabel(ClaimNames.CLAIM_LABEL));
        Optional<ClaimKey> key = label.flatMap(ClaimKey::parse);
        Optional<Made> made = key.isPresent() ? claims.of(key.get()) : Optional.empty();
        if (users.isPresent() && made.isEmpty()) {
            // The registry that knew the claim is lost. What was requested is in the other label,
            // which gives nobody more than any container with that label has.
            if (key.isPresent()
                    && !claims.isKnown(key.get())
                    && words.label(ClaimNames.GPUS_LABEL).isPresent()) {
                return Optional.empty();
            }
            throw new RefusedException(
                    "this container's label %s names the claim %s, which is not its own"
                            .formatted(
                                    ClaimNames.CLAIM_LABEL,
                                    key.map(ClaimKey::id)
                                            .orElseGet(() -> Quote.shown(users.get()))),
                    "create it again with 'jnvdocker run'");
        }
        if (users.isEmpty() && made.filter(it -> !it.namesIt()).isPresent()) {
            throw new RefusedException(
                    "docker's directory has no configuration of this container's image, so the"
                            + " label "
                            + ClaimNames.CLAIM_LABEL
                            + " may be the image's",
                    "pull the image, then create the container again");
        }
        return made.map(it -> new GpuWish.Claimed(key.get(), it.request(), named));
    }

    private Optional<GpuWish> said(String value, GpuWish.Source source, Set<Integer> named)
            throws RefusedException {
        try {
            GpuRequest request = GpuRequest.parseOption(value);
            return Optional.of(
                    new GpuWish.Gpus(request, source, named, GpuRequest.parseCapabilities(value)));
        } catch (InvalidGpuRequestException e) {
            throw new RefusedException(
                    source.words() + " is " + Quote.quoted(value) + ", which is not a valid value",
                    "write all, none, a number, device=<ids>, count=2,memory=40G,"
                            + " share=10G or with=<container>");
        }
    }

    private Optional<GpuWish> ofImage(
            RuntimeSpec spec,
            Optional<DockerContainer> docker,
            Optional<ImageConfig> image,
            UsersWords words)
            throws RefusedException {
        String label = docker.map(it -> it.labels().get(ClaimNames.GPUS_LABEL)).orElse("").strip();
        if (label.equals("none")) {
            // Its user's or its image's, which cannot be distinguished if both have it.
            return Optional.of(
                    new GpuWish.Gpus(new GpuRequest.None(), GpuWish.Source.LABEL, Set.of()));
        }
        Map<String, String> labels =
                image.map(ImageConfig::labels)
                        .or(() -> docker.map(DockerContainer::labels))
                        .orElse(Map.of());
        Map<String, String> environment =
                image.map(ImageConfig::environment)
                        .or(() -> docker.map(DockerContainer::environment))
                        .orElseGet(spec::environment);
        GpuNeeds needs = GpuNeeds.of(new ImageConfig(labels, environment), spec.environment());
        if (!needs.gpus() && !needs.implied()) {
            return Optional.empty();
        }
        if (needs.implied() && spec.allowsAllDevices()) {
            return Optional.of(
                    new GpuWish.Withheld(
                            new Refusal(
                                    "this container has no GPU: it is privileged, and its image"
                                            + " requests GPUs by CUDA_VERSION alone",
                                    words.howToRequest())));
        }
        if (needs.driverAlone()) {
            return Optional.of(
                    new GpuWish.Gpus(new GpuRequest.None(), GpuWish.Source.IMAGE, Set.of()));
        }
        return Optional.of(
                settings.get().imagesGetNone()
                        ? new GpuWish.Withheld(
                                new Refusal(
                                        "this container has no GPU: its image's request does not"
                                                + " count here (image_need)",
                                        words.howToRequest()))
                        : new GpuWish.Gpus(
                                settings.get().defaultGpus(), GpuWish.Source.IMAGE, Set.of()));
    }

    /** Refuses a privileged container with GPUs, unless that is allowed. */
    public void refusePrivileged() throws RefusedException {
        refusePrivileged("that out (--cap-add and --device give single rights)");
    }

    /** Refuses a privileged container of a pod with GPUs, unless that is allowed. */
    public void refusePrivilegedPod() throws RefusedException {
        refusePrivileged(
                "out securityContext.privileged (securityContext.capabilities gives single"
                        + " rights)");
    }

    private void refusePrivileged(String what) throws RefusedException {
        if (!settings.get().allowPrivileged()) {
            throw new RefusedException(
                    "a privileged container, or one with a rule for all devices, can use every GPU"
                            + " of the host, whoever holds them",
                    "leave " + what + ", or have an administrator set allow_privileged = true");
        }
    }
}
