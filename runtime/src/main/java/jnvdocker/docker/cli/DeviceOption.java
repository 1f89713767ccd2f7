package jnvdocker.docker.cli;

import java.util.Optional;
import java.util.OptionalInt;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A {@code --device}: {@code HOST[:CONTAINER][:RIGHTS]}, as docker's parseDevice takes it apart.
 *
 * @param typed its value
 * @param host a node, a link to one, or a directory
 * @param container where that is in the container
 * @param opened whether it may be read or written there, or only be made
 */
public record DeviceOption(String typed, String host, String container, boolean opened) {
    private static final String RIGHTS = "rwm";
    private static final Pattern GPU_NODE = Pattern.compile("/dev/nvidia(0|[1-9][0-9]{0,2})");

    /** Empty if it is not a path of the host: a CDI device, or a value that docker refuses. */
    static Optional<DeviceOption> parse(String typed) {
        String[] parts = typed.split(":", -1);
        if (parts.length > 3 || !parts[0].startsWith("/")) {
            return Optional.empty();
        }
        String container = "";
        String rights = RIGHTS;
        if (parts.length == 3) {
            rights = parts[2];
            container = parts[1];
        } else if (parts.length == 2 && isRights(parts[1])) {
            rights = parts[1];
        } else if (parts.length == 2) {
            container = parts[1];
        }
        return Optional.of(
                new DeviceOption(
                        typed,
                        parts[0],
                        container.isEmpty() ? parts[0] : container,
                        rights.contains("r") || rights.contains("w")));
    }

    private static boolean isRights(String part) {
        return !part.isEmpty()
                && part.chars().allMatch(right -> RIGHTS.indexOf(right) >= 0)
                && part.chars().distinct().count() == part.length();
    }

    /** The minor of a GPU, where the host's path is the name of its node. */
    OptionalInt namedMinor() {
        Matcher name = GPU_NODE.matcher(MountTargets.clean(host));
        return name.matches()
                ? OptionalInt.of(Integer.parseInt(name.group(1)))
                : OptionalInt.empty();
    }

    /**
     * Whether the path in the container is the name of a GPU's node, by which programs find GPUs.
     */
    public boolean isCalledAsAGpu() {
        return GPU_NODE.matcher(MountTargets.clean(container)).matches();
    }
}
