package jnvdocker.words;

import java.util.List;
import java.util.StringJoiner;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/** The indices of several GPUs, as people read them: {@code 0-7}, {@code 0-2,5}. */
public final class Indices {
    /** A shorter run is no longer when each is named, and can be typed again as it is. */
    private static final int RUN = 3;

    private static final Pattern INDEX = Pattern.compile("[0-9]{1,9}");

    private Indices() {}

    /** From the lowest to the highest. */
    public static String text(Stream<Integer> indices) {
        List<Integer> sorted = indices.sorted().distinct().toList();
        StringJoiner text = new StringJoiner(",");
        int from = 0;
        while (from < sorted.size()) {
            int first = sorted.get(from);
            int to = from + 1;
            while (to < sorted.size() && sorted.get(to) == first + to - from) {
                to++;
            }
            text.add(run(first, to - from));
            from = to;
        }
        return text.toString();
    }

    /** A short text for numbers of GPUs and of their parts ({@code 0:1}): {@code 0-2,3:0,3:1}. */
    public static String numbers(Stream<String> numbers) {
        List<String> all = numbers.distinct().toList();
        String whole =
                text(all.stream().filter(it -> INDEX.matcher(it).matches()).map(Integer::valueOf));
        StringJoiner text = new StringJoiner(",");
        Stream.concat(
                        Stream.of(whole).filter(it -> !it.isEmpty()),
                        all.stream().filter(it -> !INDEX.matcher(it).matches()))
                .forEach(text::add);
        return text.toString();
    }

    /** Ids as they were typed: in the same way if they are indices, else one by one. */
    public static String typed(List<String> ids) {
        return ids.stream().allMatch(id -> INDEX.matcher(id).matches())
                ? text(ids.stream().map(Integer::valueOf))
                : String.join(", ", ids);
    }

    private static String run(int first, int length) {
        if (length >= RUN) {
            return first + "-" + (first + length - 1);
        }
        StringJoiner each = new StringJoiner(",");
        IntStream.range(first, first + length).forEach(index -> each.add("" + index));
        return each.toString();
    }
}
