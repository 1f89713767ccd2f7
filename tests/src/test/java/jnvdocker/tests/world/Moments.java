package jnvdocker.tests.world;

import jnvdocker.labels.Seeds;

import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.stream.IntStream;

/**
 * Selects the moments at which a test strikes among very many: some, or with {@code KILL_POINTS} in
 * the environment that many, or {@code all}.
 */
public final class Moments {
    private static final Optional<String> WANTED =
            Optional.ofNullable(System.getenv("KILL_POINTS"));

    private Moments() {}

    /** Whether a test that repeats what it does is to do so as often as it can. */
    public static boolean areAllWanted() {
        return WANTED.filter("all"::equals).isPresent();
    }

    /**
     * Selects moments, one of each of as many equal parts by the run's seed, and prints them.
     *
     * @param what the event at these moments
     * @param few how many, unless the environment says otherwise
     */
    public static List<Integer> some(String what, int first, int last, int few) {
        int all = last - first + 1;
        if (all < 1) {
            throw new AssertionError(what + ": there is no moment to strike at");
        }
        int wanted = WANTED.map(it -> it.equals("all") ? all : Integer.parseInt(it)).orElse(few);
        long parts = Math.min(wanted, all);
        Random random = Seeds.random(what);
        List<Integer> some =
                IntStream.range(0, (int) parts)
                        .mapToObj(part -> {
                            int begin = (int) (part * all / parts);
                            int end = (int) ((part + 1L) * all / parts);
                            return first + random.nextInt(begin, end);
                        })
                        .toList();
        System.out.println(what + ": " + some + " of " + first + " to " + last);
        return some;
    }
}
