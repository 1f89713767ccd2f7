package jnvdocker.words;

import java.util.Optional;

/**
 * Why something is refused, or has failed, and what to do about it: one value from the place that
 * knows both to the place that prints them.
 *
 * @param what the fault, with the value that has it
 * @param remedy the next step; empty only as {@link #of} has it
 */
public record Refusal(String what, Optional<String> remedy) {
    public Refusal {
        checkText(what);
        remedy.ifPresent(Refusal::checkText);
    }

    public Refusal(String what, String remedy) {
        this(what, Optional.of(remedy));
    }

    /** A refusal that names its own remedy, or leaves nothing to do. */
    public static Refusal of(String what) {
        return new Refusal(what, Optional.empty());
    }

    /** A copy with a text before it, such as its subject. */
    public Refusal precededBy(String beginning) {
        return new Refusal(beginning + what, remedy);
    }

    /** A copy with a text after it. */
    public Refusal followedBy(String end) {
        return remedy.isPresent() ? new Refusal(what, remedy.get() + end) : of(what + end);
    }

    /** One sentence for people. */
    public String message() {
        return remedy.map(it -> what + "; " + it).orElse(what);
    }

    private static void checkText(String text) {
        if (text.isBlank()) {
            throw new IllegalArgumentException("a refusal says why, and what to do");
        }
    }
}
