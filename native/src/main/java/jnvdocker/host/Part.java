package jnvdocker.host;

import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The part of a GPU that a MIG instance is. A program sees it as a GPU of its own, and needs the
 * whole GPU's node and two capabilities to use it.
 *
 * @param parent the UUID of the whole GPU
 * @param number its number among the GPU's instances, as nvidia-smi and docker count them
 * @param gpuInstance the driver's number of the GPU instance
 * @param computeInstance the driver's number of the compute instance in it
 * @param gpuAccess the minor of {@code /dev/nvidia-caps/nvidia-cap<N>} for the GPU instance
 * @param computeAccess the same for the compute instance
 */
public record Part(
        String parent,
        int number,
        int gpuInstance,
        int computeInstance,
        int gpuAccess,
        int computeAccess) {
    private static final Pattern WORD =
            Pattern.compile("(GPU-[0-9a-fA-F?-]{8,64})((?::[0-9]{1,7}){5})");

    /** Reads what {@link #toString} writes; empty for any other text. */
    public static Optional<Part> parse(String word) {
        Matcher matcher = WORD.matcher(word);
        if (!matcher.matches()) {
            return Optional.empty();
        }
        int[] numbers =
                Stream.of(matcher.group(2).substring(1).split(":"))
                        .mapToInt(Integer::parseInt)
                        .toArray();
        return Optional.of(
                new Part(
                        matcher.group(1),
                        numbers[0],
                        numbers[1],
                        numbers[2],
                        numbers[3],
                        numbers[4]));
    }

    /** Returns all of it in one word, with colons between the components. */
    @Override
    public String toString() {
        return parent
                + Stream.of(number, gpuInstance, computeInstance, gpuAccess, computeAccess)
                        .map(it -> ":" + it)
                        .collect(Collectors.joining());
    }

    /** Whether it is the same piece of hardware, whatever its UUID and nodes are. */
    public boolean isSameAs(Part other) {
        return parent.equals(other.parent)
                && gpuInstance == other.gpuInstance
                && computeInstance == other.computeInstance;
    }

    /** Whether its nodes are those that it had when that was seen. */
    public boolean hasNodesOf(Part other) {
        return gpuAccess == other.gpuAccess && computeAccess == other.computeAccess;
    }
}
