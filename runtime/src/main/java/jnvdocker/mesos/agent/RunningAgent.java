package jnvdocker.mesos.agent;

import jnvdocker.process.StartedProgram;
import jnvdocker.words.RefusedException;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;

/**
 * A Mesos agent that runs on this host.
 *
 * @param root the directory that is {@code /} for it
 * @param flags by their names: from its command line, {@code --isolation=…}, or else from its
 *     variables, {@code MESOS_ISOLATION}
 */
public record RunningAgent(int pid, Path root, Map<String, String> flags) {
    private static final Set<String> NAMES = Set.of("mesos-agent", "mesos-slave");
    private static final String VARIABLE = "MESOS_";

    /** Where the helpers are in Mesos's own packages. */
    private static final String USUAL_LAUNCHER_DIR = "/usr/libexec/mesos";

    /** Some, of any role, by number or by name, in Mesos' text form. */
    private static final Pattern GPUS_IN_TEXT =
            Pattern.compile(
                    "(^|;)\\s*+(gpus\\s*+(\\([^)]*+\\)\\s*+)?:\\s*+0*+[1-9]"
                            + "|gpu_uuids\\s*+(\\([^)]*+\\)\\s*+)?:\\s*+\\{\\s*+[^}])");

    private static final Pattern GPUS_IN_JSON =
            Pattern.compile("\"name\"\\s*+:\\s*+\"gpu(s|_uuids)\"");

    public RunningAgent {
        flags = Map.copyOf(flags);
    }

    /**
     * The agents of this host, by pid. Only root's processes count, since the Linux launcher of an
     * agent needs root; anybody can give a program this name.
     */
    public static List<RunningAgent> all() {
        return StartedProgram.named(NAMES).stream()
                .filter(program -> program.user().uid() == 0)
                .map(program ->
                        new RunningAgent(
                                program.pid(),
                                program.root(),
                                flags(program.arguments(), program.variables())))
                .toList();
    }

    /** Whether it has ended since. */
    public boolean isGone() {
        return ProcessHandle.of(pid).isEmpty();
    }

    static Map<String, String> flags(List<String> arguments, List<String> environment) {
        Map<String, String> flags = new HashMap<>();
        for (String variable : environment) {
            if (variable.startsWith(VARIABLE)) {
                put(flags, variable.substring(VARIABLE.length()));
            }
        }
        for (String argument : arguments) {
            if (argument.startsWith("--")) {
                put(flags, argument.substring(2));
            }
        }
        return flags;
    }

    private static void put(Map<String, String> flags, String setting) {
        int equals = setting.indexOf('=');
        if (equals > 0) {
            String name = setting.substring(0, equals).toLowerCase(Locale.ROOT);
            flags.put(name, setting.substring(equals + 1));
        }
    }

    /** Whether it gives GPUs to tasks itself. */
    public boolean givesGpus() {
        return List.of(flag("isolation").split(",")).contains("gpu/nvidia");
    }

    /** Whether it also runs tasks in Docker; with our flags it then exits at its next start. */
    public boolean usesDocker() {
        return List.of(flag("containerizers").strip().split("\\s*,\\s*")).contains("docker");
    }

    /** Whether its resources are in a file, which is not read here. */
    public boolean hasResourcesInFile() {
        String resources = flag("resources").strip();
        return resources.startsWith("/") || resources.startsWith("file:");
    }

    /** Whether it offers GPUs to frameworks, as far as its flags say. */
    public boolean offersGpus() {
        String resources = flag("resources");
        return GPUS_IN_TEXT.matcher(resources).find() || GPUS_IN_JSON.matcher(resources).find();
    }

    /** From its flags, else the usual one. */
    public String launcherDir() {
        return flags.getOrDefault("launcher_dir", USUAL_LAUNCHER_DIR);
    }

    /**
     * Whether it queries our daemon before it launches containers.
     *
     * @throws IOException when its helper cannot be read
     */
    public boolean callsUs() throws IOException {
        // Its own root may be a container's.
        Path directory = root.resolve(launcherDir().replaceFirst("^/+", ""));
        return new LauncherDirectory(directory).isLaidOut();
    }

    /** The flags that our hook needs and that it was started without. */
    public List<String> missing() {
        List<String> missing = new ArrayList<>();
        if (flag("launcher").equals("posix")) {
            missing.add("--launcher=linux");
        }
        try {
            List<String> isolators = AgentIsolation.of(flag("isolation")).added();
            if (!isolators.isEmpty()) {
                missing.add(String.join(",", isolators) + " in --isolation");
            }
        } catch (RefusedException e) {
            missing.add("an --isolation that GPUs can have"); // 'mesos flags' says why
        }
        return missing;
    }

    private String flag(String name) {
        return flags.getOrDefault(name, "");
    }
}
