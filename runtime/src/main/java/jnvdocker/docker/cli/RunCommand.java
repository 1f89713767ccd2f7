package jnvdocker.docker.cli;

import jnvdocker.request.GpuRequest;

import java.util.ArrayList;
import java.util.BitSet;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * A complete {@code docker run} or {@code docker create}. Of an option that is given several times
 * and has one value the last counts, as for docker.
 */
public final class RunCommand implements DockerCommandLine {
    private static final String ENV = "--env=";

    private static final Pattern CDI_DEVICE =
            Pattern.compile("(nvidia\\.com|(pod\\.)?jnvdocker)/[^=]+=.+");

    private final List<String> argv;
    private final TypedOptions globals;
    private final Verb verb;
    private final TypedOptions options;
    private final GpuRequest gpus; // null where --gpus is not given

    private final Set<String> dropped; // options that docker is not to see
    private final List<String> instead; // what it is to see in their place

    RunCommand(
            List<String> argv,
            TypedOptions globals,
            Verb verb,
            TypedOptions options,
            GpuRequest gpus,
            List<String> capabilities) {
        this(
                argv,
                globals,
                verb,
                options,
                gpus,
                withOurs(WordPlace.GPUS),
                capabilities.isEmpty()
                        ? List.of()
                        : List.of(
                                ENV
                                        + GpuRequest.DRIVER_CAPABILITIES
                                        + "="
                                        + String.join(",", capabilities)));
    }

    private RunCommand(
            List<String> argv,
            TypedOptions globals,
            Verb verb,
            TypedOptions options,
            GpuRequest gpus,
            Set<String> dropped,
            List<String> instead) {
        this.dropped = dropped;
        this.instead = instead;
        this.argv = argv;
        this.globals = globals;
        this.verb = verb;
        this.options = options;
        this.gpus = gpus;
    }

    private static Set<String> withOurs(String... others) {
        Set<String> names = new HashSet<>(DockerOptions.OUR_NAMES);
        names.addAll(List.of(others));
        return names;
    }

    public Verb verb() {
        return verb;
    }

    /** The image as typed, never empty and never beginning with a dash; docker may refuse it. */
    public String image() {
        return argv.get(options.operands());
    }

    /** The value of {@code --gpu-wait}, empty for the option alone. */
    public Optional<String> gpuWait() {
        return options.last(DockerOptions.GPU_WAIT);
    }

    /** The value of {@code --gpu-time}. */
    public Optional<String> gpuTime() {
        return options.last(DockerOptions.GPU_TIME);
    }

    /**
     * Whether the image stands where a value of {@code --gpu-wait} would, were it typed with a =.
     */
    public boolean hasImageBehindWait() {
        return argv.get(options.operands() - 1).equals("--" + DockerOptions.GPU_WAIT);
    }

    /** Docker's global options as typed, to be used again for other docker commands. */
    public List<String> globals() {
        return argv.subList(0, globals.end());
    }

    /** Value of {@code -H}. Docker refuses a second one. */
    public Optional<String> host() {
        return globals.last("host");
    }

    public Optional<String> context() {
        return globals.last("context");
    }

    /** The directory of docker's configuration. */
    public Optional<String> config() {
        return globals.last("config");
    }

    /** An empty text overrides DOCKER_DEFAULT_PLATFORM of the caller. */
    public Optional<String> platform() {
        return options.last("platform");
    }

    /** One of always, missing and never, or something that docker may refuse. */
    public Optional<String> pull() {
        return options.last("pull");
    }

    /** Whether an option that takes no value is set, by its long name. */
    public boolean isSet(String option) {
        return options.isSet(option);
    }

    /** The name that the container is to have. */
    public Optional<String> name() {
        return options.last("name").filter(name -> !name.isEmpty());
    }

    public boolean quiet() {
        return options.isSet("quiet");
    }

    public Optional<String> runtime() {
        return options.last("runtime").filter(runtime -> !runtime.isEmpty());
    }

    public boolean privileged() {
        return options.isSet("privileged");
    }

    /** The request of {@code --gpus}. */
    public Optional<GpuRequest> gpus() {
        return Optional.ofNullable(gpus);
    }

    /** The devices of {@code --device}, but for those of the engine's CDI. */
    public List<DeviceOption> devices() {
        return options.values("device").stream()
                .flatMap(device -> DeviceOption.parse(device).stream())
                .toList();
    }

    /** Values of {@code --device-cgroup-rule} as typed. */
    public List<String> deviceRules() {
        return options.values("device-cgroup-rule");
    }

    /** Minors of the GPUs that {@code --device} gives, in that order, as far as names show them. */
    public List<Integer> gpuNodes() {
        return devices().stream()
                .flatMapToInt(device -> device.namedMinor().stream())
                .distinct()
                .boxed()
                .toList();
    }

    /**
     * NVIDIA devices that {@code --device} requests from the engine's CDI, as {@code
     * nvidia.com/gpu=0}.
     */
    public List<String> cdiDevices() {
        return options.values("device").stream().filter(CDI_DEVICE.asMatchPredicate()).toList();
    }

    /**
     * Settings of {@code -e}: {@code NAME=value}, or a {@code NAME} that takes the caller's value
     * and, when the caller has none, removes the image's; then the variable for the capabilities of
     * {@code --gpus}. They come after those of the files.
     */
    public List<String> env() {
        return Stream.concat(
                        options.values("env").stream(),
                        instead.stream()
                                .filter(option -> option.startsWith(ENV))
                                .map(option -> option.substring(ENV.length())))
                .toList();
    }

    /** Paths of {@code --env-file} as typed; a later file wins. */
    public List<String> envFiles() {
        return options.values("env-file");
    }

    /** The networks that the container is to join, as typed. */
    public List<String> networks() {
        return NamedObjects.networks(options);
    }

    /** The other containers that the container is to use parts of, as typed. */
    public List<String> otherContainers() {
        return NamedObjects.containers(options);
    }

    /** Paths of files that docker's client reads, as typed. */
    public List<String> readFiles() {
        return Stream.of("env-file", "label-file")
                .flatMap(option -> options.values(option).stream())
                .toList();
    }

    /**
     * The command for docker to refuse, with what it finds wrong first: it has the name of a
     * runtime that does not exist, and changes nothing.
     */
    public List<String> refused(String runtime) {
        return with(
                List.of(
                        "--tty=false",
                        "--interactive=false",
                        "--pull=never",
                        "--runtime=" + runtime));
    }

    /** Absolute paths in the container, cleaned, at which the user mounts something. */
    public List<String> mountTargets() {
        return MountTargets.of(options);
    }

    /** The words typed, as far as they are docker's. */
    public List<String> typed() {
        return new RunCommand(argv, globals, verb, options, gpus, withOurs(), List.of())
                .with(List.of());
    }

    /**
     * The command once its image has been pulled, as {@code --pull} requested. The registry's image
     * may be of another platform than was requested, and docker would pull it once more.
     */
    public RunCommand pulled() {
        List<String> more = new ArrayList<>(instead);
        if (platform().isPresent()) {
            more.add("--pull=never");
        }
        return pulled(more);
    }

    /**
     * @param more options in place of those that are left out
     */
    private RunCommand pulled(List<String> more) {
        return new RunCommand(
                argv, globals, verb, options, gpus, withOurs(WordPlace.GPUS, "pull"), more);
    }

    /**
     * The command after its pull has failed, for docker to say why in its own words, and with its
     * own exit code. Should docker succeed, it finds a runtime that does not exist: nothing was
     * decided about the container's GPUs.
     */
    public List<String> pulledInVain() {
        return pulled(List.of("--pull=always", "--runtime=try-again")).with(List.of());
    }

    /**
     * The command line as typed but for {@code --gpus}, of which the capabilities become the
     * variable that docker sets for them, and for what has been done already; with these arguments
     * behind the last option.
     */
    public List<String> with(List<String> extraArguments) {
        BitSet gone = new BitSet();
        options.options().stream()
                .filter(option -> dropped.stream().anyMatch(option::is))
                .forEach(option -> gone.set(option.from(), option.to()));
        List<String> result = new ArrayList<>();
        for (int i = 0; i < options.end(); i++) {
            if (!gone.get(i)) {
                result.add(argv.get(i));
            }
        }
        result.addAll(instead);
        result.addAll(extraArguments);
        result.addAll(argv.subList(options.end(), argv.size()));
        return List.copyOf(result);
    }
}
