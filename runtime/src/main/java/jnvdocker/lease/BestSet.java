package jnvdocker.lease;

import jnvdocker.host.Gpu;

import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.stream.IntStream;

/**
 * Finds the best of all sets of free GPUs of a size:
 *
 * <ol>
 *   <li>the one whose weakest connection is the strongest, since GPUs that work together are as
 *       fast as that;
 *   <li>of those, the one with the strongest connections in all;
 *   <li>of those, the one that takes the least from the connections of the GPUs that stay free, so
 *       that a single GPU does not break a pair;
 *   <li>of those, the one with the GPUs that come first.
 * </ol>
 */
final class BestSet {
    /** The limit of sets to try; 8 GPUs among 16 have so many, which takes a millisecond. */
    private static final long MOST_SETS = 12_870;

    private final long[][] weights;

    /** The sum of each GPU's connections to all that are free. */
    private final long[] degrees;

    private final int count;

    /** The number of leading GPUs that are in every set. */
    private final int included;

    private int[] best = {};
    private long bestWeakest = -1;
    private long bestSum = -1;
    private long bestLoss = Long.MAX_VALUE;

    private BestSet(long[][] weights, long[] degrees, int count, int included) {
        this.weights = weights;
        this.degrees = degrees;
        this.count = count;
        this.included = included;
    }

    /**
     * @param from in order of preference
     * @param count at most as many as those
     * @param free all that are free, those included
     * @return in order of preference
     */
    static List<Gpu> of(List<Gpu> from, int count, List<Gpu> free, Connections connections) {
        return of(from, 0, count, free, connections);
    }

    /**
     * The best of all sets that contain the first few.
     *
     * @param included how many that are, at most {@code count}
     */
    static List<Gpu> of(
            List<Gpu> from, int included, int count, List<Gpu> free, Connections connections) {
        if (from.size() <= count) {
            return from;
        }
        if (connections.pairs().isEmpty()) {
            return from.subList(0, count);
        }
        BestSet search =
                new BestSet(
                        weights(from, connections),
                        from.stream().mapToLong(gpu -> degree(gpu, free, connections)).toArray(),
                        count,
                        included);
        if (isSmall(from.size() - included, count - included)) {
            search.tryAll();
        } else {
            search.tryGrown();
        }
        return Arrays.stream(search.best).sorted().mapToObj(from::get).toList();
    }

    private static long[][] weights(List<Gpu> gpus, Connections connections) {
        long[][] weights = new long[gpus.size()][gpus.size()];
        for (int i = 0; i < gpus.size(); i++) {
            for (int j = 0; j < i; j++) {
                weights[i][j] = connections.weight(gpus.get(i), gpus.get(j));
                weights[j][i] = weights[i][j];
            }
        }
        return weights;
    }

    private static long degree(Gpu gpu, List<Gpu> free, Connections connections) {
        return free.stream()
                .filter(other -> !other.equals(gpu))
                .mapToLong(other -> connections.weight(gpu, other))
                .sum();
    }

    /** Whether no more sets than that are to be tried. */
    private static boolean isSmall(int gpus, int count) {
        long sets = 1;
        for (int i = 1; i <= Math.min(count, gpus - count) && sets <= MOST_SETS; i++) {
            sets = sets * (gpus - i + 1) / i;
        }
        return sets <= MOST_SETS;
    }

    private void tryAll() {
        Growth start = new Growth();
        IntStream.range(0, included).forEach(start::add);
        tryAll(start.set, included, included, start.weakest, start.sum);
    }

    /** Tries sets in the order of the GPUs; the first found stays unless a better one is found. */
    private void tryAll(int[] set, int size, int next, long weakest, long sum) {
        if (size == count) {
            offer(set, weakest, sum);
            return;
        }
        for (int gpu = next; gpu <= degrees.length - count + size; gpu++) {
            long weakestThen = weakest;
            long sumThen = sum;
            for (int i = 0; i < size; i++) {
                long weight = weights[gpu][set[i]];
                weakestThen = Math.min(weakestThen, weight);
                sumThen += weight;
            }
            if (weakestThen >= bestWeakest) {
                set[size] = gpu;
                tryAll(set, size + 1, gpu + 1, weakestThen, sumThen);
            }
        }
    }

    private void tryGrown() {
        for (int start = included; start < degrees.length; start++) {
            Growth growth = new Growth();
            IntStream.range(0, included).forEach(growth::add);
            growth.add(start);
            while (growth.size < count) {
                growth.add(growth.fitting());
            }
            offer(growth.set, growth.weakest, growth.sum);
        }
    }

    /** A set to which the GPU is added that fits best, until it is large enough. */
    private final class Growth {
        private final int[] set = new int[count];
        private final boolean[] taken = new boolean[degrees.length];
        private final long[] weakestTo = new long[degrees.length];
        private final long[] sumTo = new long[degrees.length];
        private int size;
        private long weakest = Long.MAX_VALUE;
        private long sum;

        Growth() {
            Arrays.fill(weakestTo, Long.MAX_VALUE);
        }

        void add(int gpu) {
            set[size] = gpu;
            size++;
            taken[gpu] = true;
            weakest = Math.min(weakest, weakestTo[gpu]);
            sum += sumTo[gpu];
            for (int other = 0; other < taken.length; other++) {
                weakestTo[other] = Math.min(weakestTo[other], weights[gpu][other]);
                sumTo[other] += weights[gpu][other];
            }
        }

        int fitting() {
            return IntStream.range(0, taken.length)
                    .filter(gpu -> !taken[gpu])
                    .boxed()
                    .max(
                            Comparator.<Integer>comparingLong(gpu -> weakestTo[gpu])
                                    .thenComparingLong(gpu -> sumTo[gpu])
                                    .thenComparingLong(gpu -> -degrees[gpu])
                                    .thenComparingInt(gpu -> -gpu))
                    .orElseThrow();
        }
    }

    private void offer(int[] set, long weakest, long sum) {
        if (weakest < bestWeakest || weakest == bestWeakest && sum < bestSum) {
            return;
        }
        long loss = Arrays.stream(set).mapToLong(gpu -> degrees[gpu]).sum() - 2 * sum;
        if (weakest > bestWeakest || sum > bestSum || loss < bestLoss) {
            best = set.clone();
            bestWeakest = weakest;
            bestSum = sum;
            bestLoss = loss;
        }
    }
}
