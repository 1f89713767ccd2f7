package jnvdocker.oci.spec;

import jnvdocker.labels.ImageConfig;
import jnvdocker.lease.ClaimNames;
import jnvdocker.request.GpuRequest;
import jnvdocker.request.InvalidGpuRequestException;
import jnvdocker.words.Quote;
import jnvdocker.words.Refusal;
import jnvdocker.words.RefusedException;

import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;

/**
 * The requests of a container's user in labels, annotations and variables. Engines keep those of
 * the image and of the user together: as long as the image's own are not known, they all count as
 * the image's. A user's variable with the value of the image's is recognized by the order of the
 * variables; labels have none.
 */
final class UsersWords {
    static final String VARIABLE = "JNVDOCKER_GPUS";

    /** Where NVIDIA's runtime finds the names of GPUs; images have no mounts. */
    static final String DEVICES = "/var/run/nvidia-container-devices";

    private static final String NULL = "/dev/null";

    /** Channels between hosts, which NVIDIA's runtime has mounted there, too. */
    private static final String CHANNELS = "imex/";

    private static final Pattern CDI_NAME = Pattern.compile("cdi/([^/]+/[^/=]+)[/=](.+)");
    private static final String RESOURCE = "DOCKER_RESOURCE_";
    private static final String EARLIER_PODMANS = "io.kubernetes.cri-o.TTY";

    private final RuntimeSpec spec;
    private final Optional<DockerContainer> docker;
    private final Optional<ImageConfig> image;
    private final GpuWishes.Settings settings;
    private final boolean namesRuntime;

    /**
     * @param namesRuntime whether its user has requested our runtime
     */
    UsersWords(
            RuntimeSpec spec,
            Optional<DockerContainer> docker,
            Optional<ImageConfig> image,
            GpuWishes.Settings settings,
            boolean namesRuntime) {
        this.spec = spec;
        this.docker = docker;
        this.image = image;
        this.settings = settings;
        this.namesRuntime = namesRuntime;
    }

    Optional<String> label(String name) {
        return others(
                docker.map(DockerContainer::labels).orElse(Map.of()),
                image.map(ImageConfig::labels),
                name);
    }

    /** A label that may be the image's, since the image's own are not known. */
    Optional<String> unclearLabel(String name) {
        return image.isPresent() ? Optional.empty() : docker.map(it -> it.labels().get(name));
    }

    /**
     * Docker, containerd and CRI-O take none from an image, nor does podman since 4.5.1. Which
     * podman it is does not stand there; those of before 5 set an annotation that later ones do
     * not.
     *
     * @throws RefusedException when it may be the image's
     */
    Optional<String> annotation(String name) throws RefusedException {
        Optional<String> value = Optional.ofNullable(spec.annotations().get(name));
        if (value.isPresent()
                && spec.annotations().containsKey(EARLIER_PODMANS)
                && !spec.isOfCrio()) {
            throw new RefusedException(
                    "the annotation "
                            + name
                            + " of this container may come from its image: this podman does not"
                            + " report which",
                    "name the GPU's node with --device, or use podman 5");
        }
        return value;
    }

    /**
     * @throws RefusedException when it selects GPUs, and the configuration does not let variables
     *     do that
     */
    Optional<String> variable(String name) throws RefusedException {
        refuseUnclear(name);
        Optional<String> value = usersVariable(name);
        if (value.filter(UsersWords::says).isPresent() && !settings.envSelects()) {
            throw new RefusedException(
                    "a variable does not select GPUs here (env_selects), and this container's user"
                            + " sets "
                            + name,
                    "request GPUs with --gpus or the label jnvdocker.gpus");
        }
        return value;
    }

    /**
     * Refuses our own variable where it cannot be distinguished from the image's, as with an
     * annotation of an earlier podman.
     */
    private void refuseUnclear(String name) throws RefusedException {
        boolean unclear =
                name.equals(VARIABLE)
                        && docker.isEmpty()
                        && image.isEmpty()
                        && Optional.ofNullable(spec.environment().get(VARIABLE))
                                .filter(UsersWords::says)
                                .isPresent();
        if (unclear) {
            throw new RefusedException(
                    "the variable "
                            + VARIABLE
                            + " of this container may come from its image: its engine does not"
                            + " report which",
                    "name GPUs by --device, or by the annotation" + " jnvdocker.gpus (podman 5)");
        }
    }

    private static boolean says(String value) {
        return !Set.of("", "void", "none").contains(value.strip());
    }

    private Optional<String> usersVariable(String name) {
        boolean inFront = origin(name) == Origin.USER;
        return inFront
                ? Optional.of(environment().get(name))
                : others(environment(), imagesVariables(), name);
    }

    private enum Origin {
        USER,
        IMAGE,
        UNCLEAR
    }

    /**
     * Where docker has the value of a variable from that its image sets, too. Docker puts the
     * image's variables that the user does not set behind all of the user's, in the image's order.
     */
    private Origin origin(String name) {
        Map<String, String> all = environment();
        Map<String, String> images = imagesVariables().orElse(Map.of());
        if (docker.isEmpty() || !all.containsKey(name) || !images.containsKey(name)) {
            return Origin.UNCLEAR;
        }
        List<String> order = List.copyOf(images.keySet());
        Set<String> before = new HashSet<>(order.subList(0, order.indexOf(name)));
        List<String> names = List.copyOf(all.keySet());
        int place = names.indexOf(name);
        if (names.subList(place + 1, names.size()).stream()
                .anyMatch(other -> before.contains(other) || !images.containsKey(other))) {
            return Origin.USER;
        }
        boolean follows =
                names.subList(0, place).stream()
                        .filter(before::contains)
                        .anyMatch(other -> all.get(other).equals(images.get(other)));
        return follows ? Origin.IMAGE : Origin.UNCLEAR;
    }

    /**
     * The value that the image does not set. Where the image's own are not known, only {@code none}
     * is as good as the user's: a commit of a container makes the names of a host's GPUs an
     * image's.
     */
    private static Optional<String> others(
            Map<String, String> all, Optional<Map<String, String>> images, String name) {
        Optional<String> value = Optional.ofNullable(all.get(name));
        return images.isPresent()
                ? value.filter(it -> !it.equals(images.get().get(name)))
                : value.filter(_ -> name.equals(SpecEdits.VISIBLE)).filter(UsersWords::isNone);
    }

    private static boolean isNone(String visible) {
        return visible.strip().equals("none");
    }

    /** Words that request GPUs, and do not count since they may be the image's. */
    Optional<Refusal> ignored() {
        Optional<String> label =
                docker.map(it -> it.labels().get(ClaimNames.GPUS_LABEL))
                        .filter(UsersWords::says)
                        .filter(_ -> label(ClaimNames.GPUS_LABEL).isEmpty())
                        .map(value -> "label " + ClaimNames.GPUS_LABEL + "=" + value);
        Optional<String> variable =
                Optional.ofNullable(environment().get(VARIABLE))
                        .filter(UsersWords::says)
                        .filter(_ -> usersVariable(VARIABLE).isEmpty())
                        .map(value -> "variable " + VARIABLE + "=" + value);
        return label.or(() -> variable).map(this::ignored);
    }

    private Refusal ignored(String words) {
        return new Refusal(
                "this container has no GPU: its "
                        + Quote.shown(words)
                        + " is taken as its image's"
                        + (image.isPresent() ? "" : ", which is not known"),
                howToRequest());
    }

    /** The settings that count as the user's in any case. */
    String howToRequest() {
        if (docker.isEmpty()) {
            return "request GPUs with --annotation jnvdocker.gpus=1, or name their nodes with"
                    + " --device";
        }
        return image.isPresent()
                ? "request GPUs with --gpus, or a label jnvdocker.gpus that its image lacks"
                : "request GPUs with --gpus, or pull the image";
    }

    private Map<String, String> environment() {
        return docker.map(DockerContainer::environment).orElseGet(spec::environment);
    }

    private Optional<Map<String, String>> imagesVariables() {
        return image.map(ImageConfig::environment);
    }

    /** Swarm says by a variable which of its generic resources a task has. */
    Optional<GpuWish> swarm() throws RefusedException {
        for (String resource : settings.swarmResources().stream().sorted().toList()) {
            Optional<String> name =
                    docker.map(DockerContainer::environment).orElse(Map.of()).keySet().stream()
                            .filter(it -> it.equalsIgnoreCase(RESOURCE + resource))
                            .findFirst();
            Optional<String> value = name.isPresent() ? variable(name.get()) : Optional.empty();
            if (value.filter(it -> !it.isBlank()).isPresent()) {
                return Optional.of(gpus(name.get(), value.get(), GpuWish.Source.SWARM));
            }
        }
        return Optional.empty();
    }

    /** As NVIDIA's runtime has it: {@code -v /dev/null:/var/run/nvidia-container-devices/1}. */
    Optional<GpuWish> mounts() throws RefusedException {
        List<String> names =
                spec.binds().stream()
                        .filter(bind -> bind.source().equals(NULL))
                        .map(bind -> RuntimeSpec.normal(bind.destination()))
                        .filter(target -> target.startsWith(DEVICES + "/"))
                        .map(target -> target.substring(DEVICES.length() + 1))
                        .filter(name -> !name.startsWith(CHANNELS))
                        .map(name -> CDI_NAME.matcher(name).replaceFirst("$1=$2"))
                        .toList();
        if (names.isEmpty()) {
            return Optional.empty();
        }
        try {
            String all = names.contains("all") ? "all" : String.join(",", names);
            return Optional.of(visible(all, GpuWish.Source.MOUNTS));
        } catch (InvalidGpuRequestException e) {
            throw new RefusedException(
                    GpuWish.Source.MOUNTS.words()
                            + " is called "
                            + Quote.quoted(String.join(",", names))
                            + ", which does not name GPUs",
                    "call each mount as an index or a UUID, or one of them all");
        }
    }

    /** As NVIDIA's runtime has it. */
    Optional<GpuWish> visible() throws RefusedException {
        Optional<String> users = variable(SpecEdits.VISIBLE);
        if (users.isPresent()) {
            return Optional.of(visible(users.get(), GpuWish.Source.VISIBLE_DEVICES));
        }
        Optional<String> either =
                Optional.ofNullable(environment().get(SpecEdits.VISIBLE)).filter(UsersWords::says);
        if (either.filter(it -> it.strip().equals("all")).isPresent()) {
            return namesRuntime
                            && settings.imagesGetNone()
                            && settings.envSelects()
                            && origin(SpecEdits.VISIBLE) == Origin.UNCLEAR
                    ? Optional.of(visible(either.get(), GpuWish.Source.VISIBLE_DEVICES))
                    : Optional.empty();
        }
        // Of an unknown image: its user may have meant these GPUs alone, and gets no others.
        return either.filter(_ -> image.isEmpty())
                .map(value -> "variable " + SpecEdits.VISIBLE + "=" + value)
                .map(this::ignored)
                .<GpuWish>map(GpuWish.Withheld::new);
    }

    private GpuWish visible(String value, GpuWish.Source source) throws InvalidGpuRequestException {
        return GpuRequest.parseVisibleDevices(value)
                .<GpuWish>map(it -> new GpuWish.Gpus(it, source, Set.of()))
                .orElseGet(GpuWish.Nothing::new);
    }

    private static GpuWish gpus(String name, String value, GpuWish.Source source)
            throws RefusedException {
        String stripped = value.strip();
        if (stripped.matches("[0-9]{1,4}")) {
            int number = Integer.parseInt(stripped);
            GpuRequest count = number == 0 ? new GpuRequest.None() : new GpuRequest.Count(number);
            return new GpuWish.Gpus(count, source, Set.of());
        }
        return named(name, stripped, source);
    }

    private static GpuWish named(String name, String value, GpuWish.Source source)
            throws RefusedException {
        List<String> ids = Arrays.stream(value.split(",")).map(String::strip).toList();
        try {
            GpuRequest request = GpuRequest.parseOption("device=" + String.join(",", ids));
            return new GpuWish.Gpus(request, source, Set.of());
        } catch (InvalidGpuRequestException e) {
            throw new RefusedException(
                    name + " is " + Quote.quoted(value) + ", which does not name GPUs",
                    "give the resource UUIDs of GPUs, or a number");
        }
    }
}
