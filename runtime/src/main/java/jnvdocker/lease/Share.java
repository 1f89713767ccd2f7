package jnvdocker.lease;

import jnvdocker.request.GpuFilter;
import jnvdocker.request.MemorySize;

import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * An amount of a GPU's memory that one of several holders of the GPU may use. It is accounted for;
 * nothing enforces it.
 *
 * @param memory of the whole GPU, in bytes
 */
public record Share(MemorySize amount, long memory) {
    /**
     * The part of a GPU's memory that no share gets, in bytes: the driver uses about as much of the
     * memory of a data center GPU.
     */
    private static final long RESERVE = 512L << 20;

    private static final Pattern WORD = Pattern.compile("([0-9]{1,6}[MGiB]{1,3})/([0-9]{1,16})");

    public Share {
        if (memory < amount.bytes()) {
            throw new IllegalArgumentException(amount + " of " + memory + " bytes");
        }
    }

    /** Reads what {@link #toString} writes; empty for any other text. */
    static Optional<Share> parse(String word) {
        Matcher matcher = WORD.matcher(word);
        if (!matcher.matches()) {
            return Optional.empty();
        }
        long memory = Long.parseLong(matcher.group(2));
        return MemorySize.parse(matcher.group(1))
                .filter(GpuFilter::isShare)
                .filter(amount -> amount.bytes() <= memory)
                .map(amount -> new Share(amount, memory));
    }

    /** Returns how many bytes of a GPU's memory its shares may have together. */
    public static long limit(long memory) {
        return Math.max(0, memory - RESERVE);
    }

    /** Returns the sum of the amounts, in bytes. */
    public static long sum(List<Share> shares) {
        return shares.stream().mapToLong(share -> share.amount().bytes()).sum();
    }

    /** Returns the part of the GPU that it counts as, from 0 to 1. */
    public double part() {
        return (double) amount.bytes() / memory;
    }

    /** Returns both in one word: {@code 10G/42949672960}. */
    @Override
    public String toString() {
        return amount + "/" + memory;
    }
}
