package jnvdocker.tests.world;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** A framework's request to a Mesos agent: a container, its resources and its command. */
public final class MesosTask {
    /** The program that runs the command in the container. */
    enum Executor {
        /** Mesos' own executor for one task, which calls the helper a second time. */
        COMMAND,
        /** Mesos' own executor for groups of tasks, each nested in its container. */
        GROUPS,
        /**
         * None: the container's command is run directly, as in nested containers and those of other
         * executors.
         */
        NONE
    }

    private final Map<String, Double> scalars = new LinkedHashMap<>();
    private final List<String> uuids = new ArrayList<>();
    private final Map<String, String> labels = new LinkedHashMap<>();
    private final List<String> imageVariables = new ArrayList<>();
    private final Map<String, String> variables = new LinkedHashMap<>();
    private final List<String> options = new ArrayList<>();
    private final Map<String, Path> mounts = new LinkedHashMap<>();
    private Executor executor = Executor.COMMAND;
    private Optional<Path> files = Optional.empty();
    private boolean image = true;
    private boolean debug;
    private String command = "true";
    private String name = "task";
    private String user = "root";

    /** A command task with a shell command, in the small image, without GPUs. */
    public static MesosTask of(String command) {
        MesosTask task = new MesosTask();
        task.command = command;
        task.scalars.put("cpus", 0.1);
        task.scalars.put("mem", 32.0);
        task.imageVariables.add("PATH=/usr/local/bin:/usr/bin:/bin");
        return task;
    }

    /** Runs the command directly, as in a container nested in the default executor's. */
    public MesosTask direct() {
        executor = Executor.NONE;
        return this;
    }

    /**
     * The default executor, whose own command just says up and waits for its end.
     *
     * @param gpus the sum of its tasks' requests
     */
    public static MesosTask groups(double gpus) {
        MesosTask task = of("echo up; sleep 1000").noImage().gpus(gpus);
        task.executor = Executor.GROUPS;
        return task;
    }

    /** Sets another shell command. */
    public MesosTask command(String other) {
        command = other;
        return this;
    }

    /** Sets the framework's name for it. */
    public MesosTask named(String other) {
        name = other;
        return this;
    }

    /** Sets the user that the framework requests; the helper here runs it as root all the same. */
    public MesosTask user(String other) {
        user = other;
        return this;
    }

    /** Omits the resources, as an agent before 1.10 does for a nested container. */
    public MesosTask withoutResources() {
        scalars.clear();
        return this;
    }

    /** Sets the number of GPUs, which an agent omits if it is 0. */
    public MesosTask gpus(double count) {
        if (count != 0) {
            scalars.put("gpus", count);
        }
        return this;
    }

    /** Requests GPUs by name, with the set resource. */
    public MesosTask uuids(String... chosen) {
        uuids.addAll(List.of(chosen));
        return this;
    }

    /** Adds a label of the image. */
    public MesosTask label(String name, String value) {
        labels.put(name, value);
        return this;
    }

    /** Adds the label by which an image declares that it needs the driver. */
    public MesosTask needsDriver() {
        return label("com.nvidia.volumes.needed", "nvidia_driver");
    }

    /** Adds a variable of the image, {@code NAME=VALUE}. */
    public MesosTask imageVariable(String variable) {
        imageVariables.add(variable);
        return this;
    }

    /** Omits the image's Env. */
    public MesosTask noImageVariables() {
        imageVariables.clear();
        return this;
    }

    /** Adds a variable of the framework. */
    public MesosTask variable(String name, String value) {
        variables.put(name, value);
        return this;
    }

    /** Uses these files as the image, instead of the small image. */
    public MesosTask image(Path directory) {
        files = Optional.of(directory);
        return this;
    }

    /** Adds a volume of the task: mounts a directory of the host in its image. */
    public MesosTask mount(Path source, String target) {
        mounts.put(target, source);
        return this;
    }

    /** Runs it in the host's file system. */
    public MesosTask noImage() {
        image = false;
        imageVariables.clear();
        return this;
    }

    /** Gives a nested container its own cgroups: share_cgroups=false. */
    public MesosTask ownCgroups() {
        options.add("--own-cgroups");
        return this;
    }

    /** Makes it a health check or a session, in the namespaces of its parent. */
    MesosTask debug() {
        debug = true;
        return this;
    }

    boolean isDebug() {
        return debug;
    }

    /** Runs it by an agent without the isolation cgroups/devices. */
    public MesosTask noDevicesCgroup() {
        options.add("--no-devices");
        return this;
    }

    /** Has the agent's fetcher empty the sandbox's stdout and stderr that much later than usual. */
    public MesosTask fetchedAfter(String seconds) {
        options.addAll(List.of("--fetch-after", seconds));
        return this;
    }

    String name() {
        return name;
    }

    String user() {
        return user;
    }

    /** The sources of the volumes, by their targets. */
    Map<String, Path> mounts() {
        return mounts;
    }

    /** The files of the image; empty for the small image, and without an image. */
    Optional<Path> files() {
        return files;
    }

    Map<String, Double> scalars() {
        return scalars;
    }

    List<String> uuids() {
        return uuids;
    }

    Map<String, String> labels() {
        return labels;
    }

    List<String> imageVariables() {
        return imageVariables;
    }

    Map<String, String> variables() {
        return variables;
    }

    List<String> options() {
        return options;
    }

    Executor executor() {
        return executor;
    }

    boolean hasImage() {
        return image;
    }

    String command() {
        return command;
    }
}
