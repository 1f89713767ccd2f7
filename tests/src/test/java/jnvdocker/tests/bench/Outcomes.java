package jnvdocker.tests.bench;

import jnvdocker.tests.world.Command;

import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** How the tests of a suite ended that was run twice. */
final class Outcomes {
    private int same;
    private int different;

    /**
     * Returns the outcomes that a run has printed, by the names of the tests.
     *
     * @param line with the groups {@code outcome} and {@code test}
     */
    static Map<String, String> read(Command.Result run, Pattern line) {
        Map<String, String> outcomes = new TreeMap<>();
        Matcher matcher = line.matcher(run.out());
        while (matcher.find()) {
            outcomes.put(matcher.group("test"), matcher.group("outcome"));
        }
        if (outcomes.isEmpty()) {
            throw new IllegalStateException("no test was run: " + run);
        }
        return outcomes;
    }

    /**
     * Compares two runs, and prints each test.
     *
     * @param before outcomes by the names of the tests
     */
    void compare(String suite, Map<String, String> before, Map<String, String> after) {
        Map<String, String> left = new TreeMap<>(after);
        before.forEach((test, was) -> {
            String now = left.remove(test);
            if (was.equals(now)) {
                same++;
                System.out.println(was + " " + suite + " " + test);
            } else {
                different++;
                System.out.println("DIFFERENT " + suite + " " + test + ": " + was + ", " + now);
            }
        });
        different += left.size();
        left.forEach((test, now) ->
                System.out.println("DIFFERENT " + suite + " " + test + ": none, " + now));
    }

    int different() {
        return different;
    }

    @Override
    public String toString() {
        return same + " the same, " + different + " different";
    }
}
