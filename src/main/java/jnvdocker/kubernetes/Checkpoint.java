package jnvdocker.kubernetes;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;

/**
 * What a kubelet keeps on disk of the devices that it has given to containers. It has the uids of
 * pods and their init containers, which the kubelet does not report; and it may still name pods
 * that have ended. Only containers with GPUs are in it.
 *
 * @param registered the GPUs that plugins have listed, by resource
 */
record Checkpoint(List<Entry> entries, Map<String, Set<String>> registered) {
    static final Checkpoint NONE = new Checkpoint(List.of(), Map.of());

    /** A uid becomes part of the path of a cgroup. */
    private static final Pattern UID = Pattern.compile("[0-9a-f][0-9a-f-]{7,63}");

    Checkpoint {
        entries = List.copyOf(entries);
        registered = Map.copyOf(registered);
    }

    /**
     * The devices of one container.
     *
     * @param nodes the paths on the host of the nodes that it gets with them, at each start
     */
    record Entry(
            String podUid, String container, String resource, Set<String> ids, List<String> nodes) {
        Entry {
            ids = Set.copyOf(ids);
            nodes = List.copyOf(nodes);
        }
    }

    /** Whether a text can be the uid of a pod, and part of the path of a cgroup. */
    static boolean isUid(String text) {
        return UID.matcher(text).matches();
    }

    /**
     * Reads a kubelet's; there is nothing in it before the kubelet's first device.
     *
     * @throws IOException when it cannot be read or understood
     */
    static Checkpoint read(Path kubeletDirectory) throws IOException {
        return new CheckpointFile(kubeletDirectory).read().orElse(NONE);
    }
}
