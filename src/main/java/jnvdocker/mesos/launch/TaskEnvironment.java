package jnvdocker.mesos.launch;

import java.io.IOException;
import java.util.Map;

/**
 * The environment in which a task is started. That of a command task in a container of its own root
 * is in its executor's arguments; that of any other task is the launched program's.
 */
public record TaskEnvironment(LaunchInfo info, boolean ofExecutor) {

    public static TaskEnvironment of(LaunchInfo info, ContainerConfig config) {
        return new TaskEnvironment(info, config.commandTask() && config.rootfs().isPresent());
    }

    public Map<String, String> variables() throws IOException {
        return ofExecutor ? info.taskEnvironment() : info.environment();
    }

    public void set(Map<String, String> added) throws IOException {
        if (ofExecutor) {
            info.setTaskEnvironment(added);
        } else {
            info.setEnvironment(added);
        }
    }
}
