package jnvdocker.labels;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.util.LinkedHashSet;
import java.util.Optional;
import java.util.Random;
import java.util.SequencedSet;
import java.util.stream.Stream;

/**
 * The seeds of random inputs: with {@code SEED} in the environment that one; else those that have
 * failed once ({@code tests/seeds}), one that never changes, so that a failure points to a change,
 * and in CI one for each day, so that the inputs are not the same for ever.
 */
public final class Seeds {
    private static final Path FAILED = Path.of("..", "tests", "seeds");

    private static final Optional<String> WANTED = Optional.ofNullable(System.getenv("SEED"));
    private static final boolean IS_CI = "true".equals(System.getenv("CI"));

    private Seeds() {}

    /**
     * The seeds with which a property is tried, one after the other.
     *
     * @param property as a line of {@code tests/seeds} names it: {@code LeaseModelTest#method}
     * @param own the seed that never changes
     */
    static SequencedSet<String> of(String property, String own) {
        if (WANTED.isPresent()) {
            return new LinkedHashSet<>(WANTED.stream().toList());
        }
        SequencedSet<String> seeds = failed(property);
        seeds.add(own);
        if (IS_CI) {
            seeds.add(today());
        }
        return seeds;
    }

    /**
     * Numbers that choose among many moments or inputs, printed with their seed.
     *
     * @param what what they choose, for the line that is printed
     */
    public static Random random(String what) {
        String seed = WANTED.orElseGet(() -> IS_CI ? today() : "1");
        System.out.println(what + ": SEED=" + seed);
        return new Random(seed.hashCode() * 31L + what.hashCode());
    }

    private static String today() {
        return LocalDate.now(ZoneOffset.UTC).toString().replace("-", "");
    }

    /** A line is a property and its seed; what follows says what it found. */
    private static SequencedSet<String> failed(String property) {
        SequencedSet<String> seeds = new LinkedHashSet<>();
        try (Stream<String> lines = Files.lines(FAILED)) {
            lines.map(line -> line.split(" "))
                    .filter(words -> words[0].equals(property))
                    .forEach(words -> seeds.add(words[1]));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return seeds;
    }
}
