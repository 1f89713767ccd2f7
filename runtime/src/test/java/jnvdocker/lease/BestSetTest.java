package jnvdocker.lease;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.host.Gpu;
import jnvdocker.nvml.Topology;
import jnvdocker.nvml.Topology.Ancestor;

import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;

/** The best connected GPUs are chosen, and good sets stay whole. */
class BestSetTest {
    private static List<Integer> best(Connections connections, int count, List<Integer> free) {
        List<Gpu> all = TestingConnections.gpus(16);
        List<Gpu> some = free.stream().map(all::get).toList();
        return BestSet.of(some, count, some, connections).stream().map(Gpu::index).toList();
    }

    private static List<Integer> indexes(String text) {
        return Arrays.stream(text.split(" ")).map(Integer::valueOf).toList();
    }

    @ParameterizedTest
    @CsvSource({
        // Any is as good as another.
        "1, 0 1 2 3 4 5 6 7, 0",
        // The other of its switch is taken, so no pair is broken.
        "1, 0 2 3 4 5 6 7, 0",
        "1, 0 1 2 3 5 6 7, 5",
        // One switch, then one socket.
        "2, 0 1 2 3 4 5 6 7, 0 1",
        "2, 1 2 3 4 5 6 7, 2 3",
        "2, 0 2 5 6, 0 2",
        "2, 0 4 6, 4 6",
        // The three of a broken socket, and the whole one stays.
        "3, 0 1 2 4 5 6 7, 0 1 2",
        "4, 0 1 2 3 4 5 6 7, 0 1 2 3",
        "4, 0 1 2 4 5 6 7, 4 5 6 7",
        "4, 0 1 2 5 6 7, 0 1 6 7",
        "8, 0 1 2 3 4 5 6 7, 0 1 2 3 4 5 6 7",
    })
    void linksBetweenAllLeaveTheChoiceToThePlace(int count, String free, String chosen) {
        assertEquals(indexes(chosen), best(TestingConnections.a100x8(), count, indexes(free)));
    }

    @ParameterizedTest
    @CsvSource({
        // Bridges are left whole.
        "1, 0 1 2 3 4 5 6 7, 0",
        "1, 2 3 4 5 6 7, 4",
        "1, 2 3 6 7, 2",
        // The partner is taken.
        "1, 0 1 2 4 5 6 7, 2",
        "1, 0 1 2 3 5 6 7, 5",
        "2, 0 1 2 3 4 5 6 7, 2 3",
        "2, 0 1 4 5 6 7, 6 7",
        "2, 0 1 4 5, 0 1",
        "2, 1 2 5 6, 1 2",
        // The slowest connection counts before the bridge.
        "3, 2 3 4 5 6, 4 5 6",
        "3, 0 1 2 3 4 5 6 7, 0 2 3",
        "4, 0 1 2 3 4 5 6 7, 0 1 2 3",
        "4, 0 2 3 4 5 6 7, 4 5 6 7",
        // Both bridges.
        "5, 0 1 2 3 4 5 6 7, 0 2 3 6 7",
    })
    void bridgesAreUsedAndLeftWhole(int count, String free, String chosen) {
        assertEquals(indexes(chosen), best(TestingConnections.a40x8(), count, indexes(free)));
    }

    @Test
    void unknownConnectionsLeaveTheOrderAsItIs() {
        assertEquals(List.of(5, 2, 7), best(Connections.UNKNOWN, 3, List.of(5, 2, 7, 0, 1)));
    }

    @Test
    void gpuThatIsNotAmongTheRequestedIsNotBrokenOffEither() {
        List<Gpu> all = TestingConnections.gpus(8);
        // 0 has its partner, which is not requested, and 4 has none that is free.
        assertEquals(
                List.of(all.get(4)),
                BestSet.of(
                        List.of(all.get(0), all.get(4)),
                        1,
                        List.of(all.get(0), all.get(1), all.get(4)),
                        TestingConnections.a40x8()));
    }

    /** The connections of a random host: links in some pairs, and all kinds of ancestors. */
    private static Connections random(Random random, int gpus) {
        Ancestor[] ancestors = Ancestor.values();
        return TestingConnections.of(
                gpus,
                (_, _) ->
                        new Topology(
                                ancestors[random.nextInt(ancestors.length)],
                                random.nextInt(4) == 0 ? random.nextInt(13) : 0));
    }

    private record Score(long weakest, long sum) {
        static Score of(List<Gpu> set, Connections connections) {
            long weakest = Long.MAX_VALUE;
            long sum = 0;
            for (int i = 0; i < set.size(); i++) {
                for (int j = 0; j < i; j++) {
                    long weight = connections.weight(set.get(i), set.get(j));
                    weakest = Math.min(weakest, weight);
                    sum += weight;
                }
            }
            return new Score(weakest, sum);
        }

        boolean isAtLeast(Score other) {
            return weakest > other.weakest || weakest == other.weakest && sum >= other.sum;
        }
    }

    private static List<Gpu> subset(List<Gpu> gpus, int bits) {
        return IntStream.range(0, gpus.size())
                .filter(i -> (bits & 1 << i) != 0)
                .mapToObj(gpus::get)
                .toList();
    }

    @Property(tries = 300)
    void nothingIsBetter(
            @ForAll @IntRange(min = 2, max = 9) int gpus,
            @ForAll @IntRange(min = 1, max = 8) int count,
            @ForAll @IntRange(max = 3) int most,
            @ForAll long seed) {
        Random random = new Random(seed);
        Connections connections = random(random, gpus);
        List<Gpu> free = new ArrayList<>(TestingConnections.gpus(gpus));
        Collections.shuffle(free, random);
        int included = Math.min(most, Math.min(count, gpus));
        List<Gpu> chosen = BestSet.of(free, included, count, free, connections);
        assertEquals(Math.min(count, gpus), chosen.size());
        assertEquals(chosen, BestSet.of(free, included, count, free, connections));
        assertTrue(chosen.containsAll(free.subList(0, included)), chosen::toString);
        Score score = Score.of(chosen, connections);
        Score rest = Score.of(without(free, chosen), connections);
        for (int bits = 0; bits < 1 << gpus; bits++) {
            boolean has = Integer.numberOfTrailingZeros(~bits) >= included;
            if (has && Integer.bitCount(bits) == chosen.size()) {
                List<Gpu> other = subset(free, bits);
                Score others = Score.of(other, connections);
                assertTrue(score.isAtLeast(others), () -> chosen + " and " + other);
                if (others.equals(score)) {
                    long left = Score.of(without(free, other), connections).sum();
                    assertTrue(rest.sum() >= left, () -> chosen + " and " + other);
                }
            }
        }
    }

    private static List<Gpu> without(List<Gpu> gpus, List<Gpu> some) {
        return gpus.stream().filter(gpu -> !some.contains(gpu)).toList();
    }

    /** More sets than can be tried: groups of eight with links, as in two machines of 16 GPUs. */
    @Test
    void manyGpusAreChosenByGroups() {
        Connections connections =
                TestingConnections.of(
                        32,
                        (i, j) ->
                                new Topology(
                                        i / 8 == j / 8 ? Ancestor.HOST_BRIDGE : Ancestor.SYSTEM,
                                        i / 8 == j / 8 ? 6 : 0));
        List<Gpu> all = TestingConnections.gpus(32);
        List<Gpu> free = new ArrayList<>(all);
        free.remove(1);
        assertEquals(all.subList(8, 16), BestSet.of(free, 8, free, connections));
        assertEquals(List.of(all.getFirst()), BestSet.of(free, 1, free, connections));
        assertEquals(
                List.of(0, 2, 3, 4, 5, 6, 7),
                BestSet.of(free, 7, free, connections).stream().map(Gpu::index).toList());
    }
}
