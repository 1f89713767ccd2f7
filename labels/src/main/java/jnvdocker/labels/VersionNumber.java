package jnvdocker.labels;

import jnvdocker.words.Quote;

import java.util.Arrays;
import java.util.regex.Pattern;

/**
 * Numbers separated by dots, as NVIDIA_REQUIRE_* compares them: number by number, a missing tail
 * being zeros, so that 12 and 12.0.0 are the same.
 */
public record VersionNumber(String text) implements Comparable<VersionNumber> {
    private static final int NUMBERS = 8;
    private static final Pattern SPELLING = Pattern.compile("[0-9]{1,18}(\\.[0-9]{1,18}){0,7}");

    public VersionNumber {
        if (!SPELLING.matcher(text).matches()) {
            throw new IllegalArgumentException("not a version: " + Quote.quoted(text));
        }
    }

    long major() {
        return numbers()[0];
    }

    @Override
    public int compareTo(VersionNumber other) {
        return Arrays.compare(numbers(), other.numbers());
    }

    @Override
    public String toString() {
        return text;
    }

    private long[] numbers() {
        long[] numbers = new long[NUMBERS];
        int index = 0;
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (c == '.') {
                index++;
            } else {
                numbers[index] = 10 * numbers[index] + (c - '0');
            }
        }
        return numbers;
    }
}
