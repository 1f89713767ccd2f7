package jnvdocker.use;

import jnvdocker.posix.ProcessId;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A container that runs, or will again without anybody's asking.
 *
 * @param init its first process, empty while it is between two starts
 * @param volumes names of those it mounts
 */
public record RunningContainer(
        String id,
        String name,
        String image,
        Optional<ProcessId> init,
        Map<String, String> labels,
        List<String> volumes,
        GpuAccess access) {

    private static final List<String> FOLDER_LABELS =
            List.of("com.docker.compose.project.working_dir", "devcontainer.local_folder");

    private static final Pattern HOME = Pattern.compile("/home/([a-z_][a-z0-9_.-]{0,31})/.*");

    public RunningContainer {
        labels = Map.copyOf(labels);
        volumes = List.copyOf(volumes);
    }

    /** The same under the name that it has now. */
    public RunningContainer named(String now) {
        return new RunningContainer(id, now, image, init, labels, volumes, access);
    }

    /**
     * A guess at whose it is: the directory in which compose or a devcontainer was started says so,
     * which is a label that anybody may set.
     */
    public Optional<String> guessedUser() {
        return FOLDER_LABELS.stream()
                .flatMap(label -> Optional.ofNullable(labels.get(label)).stream())
                .map(HOME::matcher)
                .filter(Matcher::matches)
                .map(folder -> folder.group(1))
                .findFirst();
    }
}
