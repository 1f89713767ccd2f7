package jnvdocker.tests.world;

import java.util.List;
import java.util.stream.IntStream;

/** At which of very many moments a test strikes: some, or all with {@code KILL_POINTS=all}. */
public final class Moments {
    private static final boolean ALL = "all".equals(System.getenv("KILL_POINTS"));

    private Moments() {}

    /**
     * Moments at equal distances, which are printed.
     *
     * @param what happens at them
     * @param about how many, unless all are wanted
     */
    public static List<Integer> some(String what, int first, int last, int about) {
        int step = ALL ? 1 : Math.max(1, (last - first + 1) / about);
        List<Integer> some =
                IntStream.iterate(first, moment -> moment <= last, moment -> moment + step)
                        .boxed()
                        .toList();
        System.out.println(what + ": " + some + " of " + first + " to " + last);
        return some;
    }
}
