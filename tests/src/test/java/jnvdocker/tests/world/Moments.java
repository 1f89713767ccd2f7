package jnvdocker.tests.world;

import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;

/**
 * Selects the moments at which a test strikes among very many: some, or with {@code KILL_POINTS} in
 * the environment about that many, or {@code all}.
 */
public final class Moments {
    private static final Optional<String> WANTED =
            Optional.ofNullable(System.getenv("KILL_POINTS"));

    private Moments() {}

    /**
     * Selects moments at equal distances, and prints them.
     *
     * @param what the event at these moments
     * @param about how many, unless the environment says otherwise
     */
    public static List<Integer> some(String what, int first, int last, int about) {
        int all = last - first + 1;
        if (all < 1) {
            throw new AssertionError(what + ": there is no moment to strike at");
        }
        int wanted = WANTED.map(it -> it.equals("all") ? all : Integer.parseInt(it)).orElse(about);
        int step = Math.max(1, all / wanted);
        List<Integer> some =
                IntStream.iterate(first, moment -> moment <= last, moment -> moment + step)
                        .boxed()
                        .toList();
        System.out.println(what + ": " + some + " of " + first + " to " + last);
        return some;
    }
}
