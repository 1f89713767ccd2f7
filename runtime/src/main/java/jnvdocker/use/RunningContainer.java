package jnvdocker.use;

import jnvdocker.posix.ProcessId;
import jnvdocker.words.ForeignText;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;

/**
 * A container that runs, or that its engine will start again by itself.
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

    public RunningContainer {
        name = ForeignText.name(name);
        image = ForeignText.cut(image, ForeignText.PATH);
        labels =
                labels.entrySet().stream()
                        .collect(
                                Collectors.toUnmodifiableMap(
                                        Map.Entry::getKey,
                                        it -> ForeignText.cut(it.getValue(), ForeignText.PATH)));
        volumes = List.copyOf(volumes);
    }

    /** A copy with the name that it has now. */
    public RunningContainer named(String now) {
        return new RunningContainer(id, now, image, init, labels, volumes, access);
    }
}
