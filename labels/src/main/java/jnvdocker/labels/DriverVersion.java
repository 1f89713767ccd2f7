package jnvdocker.labels;

import jnvdocker.words.Quote;

import java.util.Arrays;
import java.util.regex.Pattern;

/**
 * The version of an NVIDIA driver, such as {@code 535.104.05}: two or three numbers of which the
 * first is the branch. Compared number by number; a missing number counts as zero.
 *
 * <p>The text is kept as the driver spells it, since files are named by it ({@code
 * libcuda.so.470.256.02}): {@code 470.256.02} and {@code 470.256.2} compare as equal but are not
 * the same name.
 */
public record DriverVersion(String text) implements Comparable<DriverVersion> {
    private static final Pattern SPELLING = Pattern.compile("[0-9]{1,6}(\\.[0-9]{1,6}){1,3}");

    public DriverVersion {
        if (!SPELLING.matcher(text).matches()) {
            throw new IllegalArgumentException("not a driver version: " + Quote.quoted(text));
        }
    }

    /**
     * @throws IllegalArgumentException quoting the text, when it is not a driver version
     */
    public static DriverVersion parse(String text) {
        return new DriverVersion(text);
    }

    /** The first number: 535 of {@code 535.104.05}. */
    public int branch() {
        return numbers()[0];
    }

    @Override
    public int compareTo(DriverVersion other) {
        int[] ours = Arrays.copyOf(numbers(), 4);
        int[] theirs = Arrays.copyOf(other.numbers(), 4);
        return Arrays.compare(ours, theirs);
    }

    @Override
    public String toString() {
        return text;
    }

    private int[] numbers() {
        return Arrays.stream(text.split("\\.")).mapToInt(Integer::parseInt).toArray();
    }
}
