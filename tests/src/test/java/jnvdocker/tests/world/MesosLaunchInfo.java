package jnvdocker.tests.world;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;

import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;

/** Writes a launch info for the agent's helper, in the format of a real agent. */
final class MesosLaunchInfo {
    private static final JsonNodeFactory JSON = JsonNodeFactory.instance;
    private static final String IN_IMAGE = "/mnt/mesos/sandbox";

    private static final int RECURSIVE_BIND = 20480;
    private static final int BIND = 4096;

    private final MesosTask task;
    private final Path launcher;
    private final Path runtime;
    private final Path sandbox;
    private final Path rootfs;

    MesosLaunchInfo(MesosTask task, Path launcher, Path runtime, Path sandbox, Path rootfs) {
        this.task = task;
        this.launcher = launcher;
        this.runtime = runtime;
        this.sandbox = sandbox;
        this.rootfs = rootfs;
    }

    String text() {
        ObjectNode info = JSON.objectNode();
        info.putArray("clone_namespaces").add(131072);
        boolean command = task.executor() == MesosTask.Executor.COMMAND;
        info.set("command", command());
        info.putObject("environment").set("variables", command ? executors() : directs());
        if (task.hasImage()) {
            if (!task.isDebug()) {
                files(info.putArray("file_operations"));
                mounts(info.putArray("mounts"));
            }
            if (!command) {
                info.put("rootfs", rootfs.toString());
            }
        }
        info.put("user", task.user());
        info.put("working_directory", task.hasImage() && !command ? IN_IMAGE : sandbox.toString());
        return info.toString();
    }

    /** The agent's description of the task for its executor. */
    String task() {
        ObjectNode reported = shell(task.command());
        reported.putObject("environment").set("variables", variables(task.variables()));
        return reported.toString();
    }

    private static ObjectNode shell(String command) {
        return JSON.objectNode().put("shell", true).put("value", command);
    }

    private ObjectNode command() {
        return switch (task.executor()) {
            case COMMAND -> executor();
            case GROUPS -> groups();
            case NONE -> shell(task.command());
        };
    }

    /** Here the default executor is a shell. */
    private ObjectNode groups() {
        ObjectNode command = JSON.objectNode();
        command.putArray("arguments").add("mesos-default-executor").add("-c").add(task.command());
        return command.put("shell", false).put("value", helper("mesos-default-executor"));
    }

    private String helper(String name) {
        // The agent resolves the link to the helper.
        return launcher.resolveSibling("libexec").resolve(name).toString();
    }

    private ObjectNode executor() {
        ObjectNode command = JSON.objectNode();
        ArrayNode arguments = command.putArray("arguments");
        arguments.add("mesos-executor").add("--launcher_dir=" + launcher);
        if (task.hasImage()) {
            arguments.add("--sandbox_directory=" + IN_IMAGE).add("--user=root");
            arguments.add("--task_launch_info={\"clone_namespaces\":[131072]}");
            if (!task.imageVariables().isEmpty()) {
                ObjectNode environment = JSON.objectNode();
                environment.set("variables", variables(image()));
                arguments.add("--task_environment=" + environment);
            }
            arguments.add("--rootfs=" + rootfs);
        }
        return command.put("shell", false).put("value", helper("mesos-executor"));
    }

    /** The framework's variables apply to the executor, too. */
    private ArrayNode executors() {
        ArrayNode all = variables(agents());
        all.addAll(variables(task.variables()));
        return all;
    }

    /** In the order agent, image, framework: a name may repeat, and the last one counts. */
    private ArrayNode directs() {
        ArrayNode all = variables(Map.of("MESOS_SANDBOX", seenSandbox()));
        all.addAll(variables(image()));
        all.addAll(variables(task.variables()));
        all.addAll(variables(Map.of("MESOS_ALLOCATION_ROLE", "*")));
        return all;
    }

    private Map<String, String> agents() {
        Map<String, String> variables = new LinkedHashMap<>();
        variables.put("LIBPROCESS_IP", "127.0.0.1");
        variables.put("LIBPROCESS_PORT", "0");
        variables.put("MESOS_DIRECTORY", sandbox.toString());
        variables.put("MESOS_EXECUTOR_ID", task.name());
        variables.put("MESOS_SANDBOX", seenSandbox());
        return variables;
    }

    private String seenSandbox() {
        return task.hasImage() ? IN_IMAGE : sandbox.toString();
    }

    private Map<String, String> image() {
        Map<String, String> variables = new LinkedHashMap<>();
        for (String variable : task.imageVariables()) {
            variables.put(
                    variable.substring(0, variable.indexOf('=')),
                    variable.substring(variable.indexOf('=') + 1));
        }
        return variables;
    }

    private static ArrayNode variables(Map<String, String> values) {
        ArrayNode variables = JSON.arrayNode();
        values.forEach((name, value) ->
                variables.addObject().put("name", name).put("type", "VALUE").put("value", value));
        return variables;
    }

    private void files(ArrayNode files) {
        for (String link : new String[] {"fd:/proc/self/fd", "ptmx:pts/ptmx"}) {
            String[] parts = link.split(":");
            files.addObject()
                    .put("operation", "SYMLINK")
                    .putObject("symlink")
                    .put("source", parts[1])
                    .put("target", rootfs + "/dev/" + parts[0]);
        }
    }

    private void mounts(ArrayNode mounts) {
        bind(mounts, rootfs.toString(), "", RECURSIVE_BIND);
        filesystem(mounts, "proc", "/proc", 14, "");
        filesystem(mounts, "tmpfs", "/dev", 10, "mode=755");
        for (String node : new String[] {"full", "null", "random", "tty", "urandom", "zero"}) {
            bind(mounts, runtime + "/devices/" + node, "/dev/" + node, BIND);
        }
        bind(mounts, sandbox.toString(), IN_IMAGE, RECURSIVE_BIND);
        task.mounts()
                .forEach((target, source) ->
                        bind(mounts, source.toString(), target, RECURSIVE_BIND));
    }

    private void bind(ArrayNode mounts, String source, String target, int flags) {
        mounts.addObject().put("flags", flags).put("source", source).put("target", rootfs + target);
    }

    private void filesystem(
            ArrayNode mounts, String type, String target, int flags, String options) {
        ObjectNode mount = mounts.addObject().put("flags", flags);
        if (!options.isEmpty()) {
            mount.put("options", options);
        }
        mount.put("source", type).put("target", rootfs + target).put("type", type);
    }
}
