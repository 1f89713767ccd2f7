package jnvdocker.tests.world;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** What a framework asks a Mesos agent for: a container, its resources and its command. */
public final class MesosTask {
    /** Who runs the command in the container. */
    enum Executor {
        /** Mesos' own, for one task: it calls the helper a second time. */
        COMMAND,
        /** Mesos' own for groups of tasks, each of which is nested in its container. */
        GROUPS,
        /** Nobody: the container's command is its own, as of a nested one or another executor. */
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

    /** A shell's command, as a command task of the small image, without any GPUs. */
    public static MesosTask of(String command) {
        MesosTask task = new MesosTask();
        task.command = command;
        task.scalars.put("cpus", 0.1);
        task.scalars.put("mem", 32.0);
        task.imageVariables.add("PATH=/usr/local/bin:/usr/bin:/bin");
        return task;
    }

    /** As of the default executor, and what is nested in it: the command is run as it is. */
    public MesosTask direct() {
        executor = Executor.NONE;
        return this;
    }

    /**
     * The default executor, whose own command does nothing: it says up, and waits for its end.
     *
     * @param gpus the sum of what its tasks ask for
     */
    public static MesosTask groups(double gpus) {
        MesosTask task = of("echo up; sleep 1000").noImage().gpus(gpus);
        task.executor = Executor.GROUPS;
        return task;
    }

    /** Another shell's command. */
    public MesosTask command(String other) {
        command = other;
        return this;
    }

    /** What its framework calls it. */
    public MesosTask named(String other) {
        name = other;
        return this;
    }

    /** Whom the framework has it run as; the helper here runs it as root all the same. */
    public MesosTask user(String other) {
        user = other;
        return this;
    }

    /** As an agent before 1.10 writes a nested one down. */
    public MesosTask withoutResources() {
        scalars.clear();
        return this;
    }

    /** An agent does not write down that it is none. */
    public MesosTask gpus(double count) {
        if (count != 0) {
            scalars.put("gpus", count);
        }
        return this;
    }

    /** Of the set resource that names GPUs. */
    public MesosTask uuids(String... chosen) {
        uuids.addAll(List.of(chosen));
        return this;
    }

    /** Of the image. */
    public MesosTask label(String name, String value) {
        labels.put(name, value);
        return this;
    }

    /** The label by which an image says that it needs the driver. */
    public MesosTask needsDriver() {
        return label("com.nvidia.volumes.needed", "nvidia_driver");
    }

    /** A variable of the image, {@code NAME=VALUE}. */
    public MesosTask imageVariable(String variable) {
        imageVariables.add(variable);
        return this;
    }

    /** As of an image without any Env. */
    public MesosTask noImageVariables() {
        imageVariables.clear();
        return this;
    }

    /** What the framework has set. */
    public MesosTask variable(String name, String value) {
        variables.put(name, value);
        return this;
    }

    /** The image has these files, instead of those of the small image. */
    public MesosTask image(Path folder) {
        files = Optional.of(folder);
        return this;
    }

    /** A volume of the task's: a folder of the host at a place in its image. */
    public MesosTask mount(Path source, String target) {
        mounts.put(target, source);
        return this;
    }

    /** The container has the host's file system. */
    public MesosTask noImage() {
        image = false;
        imageVariables.clear();
        return this;
    }

    /** A nested container with cgroups of its own: share_cgroups=false. */
    public MesosTask ownCgroups() {
        options.add("--own-cgroups");
        return this;
    }

    /** A health check or a session: in the namespaces of the container that it is nested in. */
    MesosTask debug() {
        debug = true;
        return this;
    }

    boolean isDebug() {
        return debug;
    }

    /** The agent has no isolation cgroups/devices. */
    public MesosTask noDevicesCgroup() {
        options.add("--no-devices");
        return this;
    }

    /** The agent's fetcher empties the sandbox's stdout and stderr that much later than usual. */
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

    /** By their places. */
    Map<String, Path> mounts() {
        return mounts;
    }

    /** Empty for the small image, and for none. */
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
