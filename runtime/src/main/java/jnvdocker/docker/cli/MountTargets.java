package jnvdocker.docker.cli;

import jnvdocker.request.CsvLine;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;

/** The paths in a container at which the user mounts something. */
final class MountTargets {
    private static final Set<String> KEYS = Set.of("target", "dst", "destination");

    private MountTargets() {}

    /** Cleaned absolute paths; what docker would refuse as a mount is not among them. */
    static List<String> of(TypedOptions options) {
        return Stream.of(
                        options.values("volume").stream().map(MountTargets::ofVolume),
                        options.values("mount").stream().flatMap(m -> ofMount(m).stream()),
                        options.values("tmpfs").stream().map(tmpfs -> tmpfs.split(":", 2)[0]))
                .flatMap(targets -> targets)
                .filter(target -> target.startsWith("/"))
                .map(MountTargets::clean)
                .distinct()
                .toList();
    }

    /** {@code target}, {@code source:target} or {@code source:target:options}. */
    private static String ofVolume(String volume) {
        String[] parts = volume.split(":", 3);
        return parts.length == 1 ? volume : parts[1];
    }

    /** Keys in any case; of several targets docker takes the last. */
    private static Optional<String> ofMount(String mount) {
        return CsvLine.parse(mount.strip()).stream()
                .flatMap(List::stream)
                .map(field -> field.split("=", 2))
                .filter(f -> f.length == 2 && KEYS.contains(f[0].toLowerCase(Locale.ROOT)))
                .map(field -> field[1])
                .reduce((earlier, later) -> later);
    }

    /**
     * Removes doubled slashes, dots and a slash at the end. Not a Path: the text may be invalid.
     */
    static String clean(String path) {
        Deque<String> names = new ArrayDeque<>();
        for (String name : path.split("/")) {
            switch (name) {
                case "", "." -> {}
                case ".." -> names.pollLast();
                default -> names.addLast(name);
            }
        }
        return "/" + String.join("/", names);
    }
}
