package jnvdocker.labels;

import jnvdocker.words.Quote;

import java.util.Comparator;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A CUDA version as images and drivers name it: major and minor. A third number, and a fourth, as
 * in the labels {@code 9.0.176} and {@code 10.1.243.0}, name an update of the toolkit and are not
 * compared: drivers support a minor version with all its updates.
 */
public record CudaVersion(int major, int minor) implements Comparable<CudaVersion> {
    private static final Pattern SPELLING =
            Pattern.compile("([0-9]{1,4})(?:\\.([0-9]{1,4}))?(?:\\.[0-9]{1,6}){0,2}");

    /**
     * @throws IllegalArgumentException quoting the text, when it is not a CUDA version
     */
    public static CudaVersion parse(String text) {
        Matcher matcher = SPELLING.matcher(text);
        if (!matcher.matches()) {
            throw new IllegalArgumentException("not a CUDA version: " + Quote.quoted(text));
        }
        int minor = matcher.group(2) == null ? 0 : Integer.parseInt(matcher.group(2));
        return new CudaVersion(Integer.parseInt(matcher.group(1)), minor);
    }

    @Override
    public int compareTo(CudaVersion other) {
        return Comparator.comparingInt(CudaVersion::major)
                .thenComparingInt(CudaVersion::minor)
                .compare(this, other);
    }

    @Override
    public String toString() {
        return major + "." + minor;
    }
}
