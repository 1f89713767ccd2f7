package jnvdocker.host;

import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
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
 * @param slices its share of the slices that compute; empty if NVML does not report it
 */
public record Part(
        String parent,
        int number,
        int gpuInstance,
        int computeInstance,
        int gpuAccess,
        int computeAccess,
        Optional<Slices> slices) {
    private static final Pattern WORD =
            Pattern.compile("(GPU-[0-9a-fA-F?-]{8,64})((?::[0-9]{1,7}){5}(?::[0-9]{1,3}){0,2})");

    /** As many numbers as the word of a part has whose slices are known. */
    private static final int NUMBERS = 7;

    /**
     * The slices of a GPU that compute for an instance: 1 of 7 for {@code 1g.5gb} of an A100.
     *
     * @param own at least 1
     * @param all how many the GPU has, at least {@code own}
     */
    public record Slices(int own, int all) {
        public Slices {
            if (own < 1 || own > all) {
                throw new IllegalArgumentException(own + " of " + all + " slices");
            }
        }

        /** Empty for numbers that no instance has. */
        public static Optional<Slices> of(int own, int all) {
            return own < 1 || own > all ? Optional.empty() : Optional.of(new Slices(own, all));
        }
    }

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
                        numbers[4],
                        numbers.length < NUMBERS
                                ? Optional.empty()
                                : Slices.of(numbers[5], numbers[6])));
    }

    /** Returns all of it in one word, with colons between the components. */
    @Override
    public String toString() {
        return parent
                + IntStream.concat(
                                IntStream.of(
                                        number,
                                        gpuInstance,
                                        computeInstance,
                                        gpuAccess,
                                        computeAccess),
                                slices.stream()
                                        .flatMapToInt(its -> IntStream.of(its.own(), its.all())))
                        .mapToObj(it -> ":" + it)
                        .collect(Collectors.joining());
    }

    /** The part of the GPU that it counts as, from 0 to 1: a whole GPU if that is not known. */
    public double count() {
        return slices.map(its -> (double) its.own() / its.all()).orElse(1.0);
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
