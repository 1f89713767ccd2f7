package jnvdocker.mesos.agent;

import jnvdocker.process.StartedProgram;

import java.io.IOException;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;

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

    private String flag(String name) {
        return flags.getOrDefault(name, "");
    }
}
