package jnvdocker.mesos.launch;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.cfg.JsonNodeFeature;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

import jnvdocker.json.ForeignJson;

import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;

/**
 * How a container is to be launched: Mesos' message {@code ContainerLaunchInfo} as JSON, which the
 * agent hands to its helper. What we don't know in it stays as it is.
 */
public final class LaunchInfo {
    private static final JsonMapper JSON =
            JsonMapper.builder()
                    .enable(DeserializationFeature.USE_BIG_DECIMAL_FOR_FLOATS)
                    .disable(JsonNodeFeature.STRIP_TRAILING_BIGDECIMAL_ZEROES)
                    .build();

    /** The limit in bytes: a framework's user can set any number of variables. */
    private static final int MOST = 512 << 10;

    private static final String VARIABLES = "variables";
    private static final String ENVIRONMENT = "environment";
    private static final String ARGUMENTS = "arguments";
    private static final String TASK_ENVIRONMENT = "--task_environment=";
    private static final String DEFAULT_EXECUTOR = "mesos-default-executor";

    private final ObjectNode info;

    private LaunchInfo(ObjectNode info) {
        this.info = info;
    }

    /**
     * @throws IOException when it is not a JSON object, or is longer than 512 KiB
     */
    public static LaunchInfo parse(String json) throws IOException {
        if (ForeignJson.tree(JSON, json, MOST) instanceof ObjectNode info) {
            return new LaunchInfo(info);
        }
        throw new IOException("a launch info is a JSON object");
    }

    /** Whether this launches the executor that runs groups of tasks, each in a container. */
    public boolean isDefaultExecutor() {
        return ("/" + info.path("command").path("value").asText(""))
                .endsWith("/" + DEFAULT_EXECUTOR);
    }

    /**
     * Where in the container something is mounted by then.
     *
     * @param rootfs the container's root on the host
     */
    public Set<String> mountTargets(String rootfs) {
        Set<String> targets = new TreeSet<>();
        for (JsonNode mount : info.path("mounts")) {
            String target = mount.path("target").asText("");
            if (target.startsWith(rootfs + "/")) {
                targets.add(target.substring(rootfs.length()));
            }
        }
        return targets;
    }

    /** The environment of the launched program: for a command task, of its executor. */
    public Map<String, String> environment() {
        return values(info.path(ENVIRONMENT));
    }

    /** The environment that a command executor receives for its task: that of the image. */
    public Map<String, String> taskEnvironment() throws IOException {
        Optional<Integer> place = taskEnvironmentArgument();
        return place.isPresent() ? values(taskEnvironment(place.get())) : Map.of();
    }

    /** Sets variables in the environment of the launched program. */
    public void setEnvironment(Map<String, String> added) {
        if (!added.isEmpty()) {
            set(object(info, ENVIRONMENT), added);
        }
    }

    /**
     * Sets variables in the environment that a command executor gives its task. What the task's own
     * definition says wins over it.
     */
    public void setTaskEnvironment(Map<String, String> added) throws IOException {
        if (added.isEmpty()) {
            return;
        }
        Optional<Integer> place = taskEnvironmentArgument();
        ObjectNode environment =
                place.isPresent() ? taskEnvironment(place.get()) : JSON.createObjectNode();
        set(environment, added);
        String argument = TASK_ENVIRONMENT + text(environment);
        ArrayNode arguments = array(object(info, "command"), ARGUMENTS);
        if (place.isPresent()) {
            arguments.set(place.get(), argument);
        } else {
            arguments.add(argument);
        }
    }

    /**
     * A program that the helper runs after all the mounts and before the container's own, as root
     * and with the agent's environment. One that fails ends the launch.
     *
     * @param arguments with the program's name as the first
     */
    public void appendPreExecCommand(String program, List<String> arguments) {
        ObjectNode command = array(info, "pre_exec_commands").addObject();
        command.put("shell", false).put("value", program);
        arguments.forEach(command.putArray(ARGUMENTS)::add);
    }

    private Optional<Integer> taskEnvironmentArgument() {
        JsonNode arguments = info.path("command").path(ARGUMENTS);
        Optional<Integer> place = Optional.empty();
        for (int i = 0; i < arguments.size(); i++) {
            if (arguments.get(i).asText("").startsWith(TASK_ENVIRONMENT)) {
                place = Optional.of(i);
            }
        }
        return place;
    }

    private ObjectNode taskEnvironment(int place) throws IOException {
        String argument = info.path("command").path(ARGUMENTS).get(place).asText();
        String json = argument.substring(TASK_ENVIRONMENT.length());
        if (ForeignJson.tree(JSON, json, MOST) instanceof ObjectNode environment) {
            return environment;
        }
        throw new IOException("a task's environment is a JSON object");
    }

    /** The variables by name; if a name occurs twice, the last counts. */
    private static Map<String, String> values(JsonNode environment) {
        Map<String, String> values = new LinkedHashMap<>();
        for (JsonNode variable : environment.path(VARIABLES)) {
            values.put(variable.path("name").asText(""), variable.path("value").asText(""));
        }
        return values;
    }

    private static void set(ObjectNode environment, Map<String, String> added) {
        ArrayNode variables = array(environment, VARIABLES);
        added.forEach((name, value) -> set(variables, name, value));
    }

    private static void set(ArrayNode variables, String name, String value) {
        ObjectNode last = null;
        for (JsonNode variable : variables) {
            if (variable instanceof ObjectNode found && found.path("name").asText().equals(name)) {
                last = found;
            }
        }
        if (last == null) {
            last = variables.addObject().put("name", name);
        }
        last.put("type", "VALUE").put("value", value);
    }

    private static ObjectNode object(ObjectNode parent, String name) {
        return parent.get(name) instanceof ObjectNode found ? found : parent.putObject(name);
    }

    private static ArrayNode array(ObjectNode parent, String name) {
        return parent.get(name) instanceof ArrayNode found ? found : parent.putArray(name);
    }

    private static String text(JsonNode node) {
        try {
            return JSON.writeValueAsString(node);
        } catch (JsonProcessingException e) {
            throw new IllegalStateException("a tree is always JSON", e);
        }
    }

    /** As JSON. */
    @Override
    public String toString() {
        return text(info);
    }
}
