package jnvdocker.labels;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;

/**
 * The value of a variable NVIDIA_REQUIRE_*: alternatives separated by blanks, of which one must
 * hold; each is conditions separated by commas, which must all hold. A condition is {@code cuda},
 * {@code driver}, {@code arch} or {@code brand} (capital or not), one of {@code = != < <= > >=},
 * and a value. Versions are compared number by number, a missing tail being zeros; brands by = and
 * != only, capital or not. Empty alternatives and conditions are skipped.
 *
 * <p>The grammar is that of libnvidia-container ({@code src/cli/dsl.c} and {@code
 * src/cli/configure.c}), where a condition on something unknown counts as true as well. Unlike
 * there, a malformed condition is refused even behind an alternative that holds: an image is either
 * well-formed or not, whatever the host.
 */
public final class Requirement {
    private static final int LENGTH = 64 * 1024;
    private static final int ALTERNATIVES = 1024;

    private final List<Alternative> alternatives;

    private Requirement(List<Alternative> alternatives) {
        this.alternatives = List.copyOf(alternatives);
    }

    /**
     * @throws IllegalArgumentException "invalid expression" and the condition that is malformed, or
     *     what there is too much of (64 KiB, 1024 alternatives)
     */
    public static Requirement parse(String expression) {
        if (expression.length() > LENGTH) {
            throw new IllegalArgumentException(
                    "invalid expression: %s characters, at most %s"
                            .formatted(expression.length(), LENGTH));
        }
        List<Alternative> alternatives = new ArrayList<>();
        for (String term : expression.split(" ")) {
            List<Condition> conditions = conditions(term);
            if (!conditions.isEmpty()) {
                alternatives.add(new Alternative(conditions));
            }
            if (alternatives.size() > ALTERNATIVES) {
                throw new IllegalArgumentException(
                        "invalid expression: more than " + ALTERNATIVES + " alternatives");
            }
        }
        return new Requirement(alternatives);
    }

    /** Requires nothing, and so is always met. */
    public boolean isEmpty() {
        return alternatives.isEmpty();
    }

    /** Whether it holds if unknown conditions count as true. */
    public boolean isMetBy(DriverFacts facts) {
        return isEmpty()
                || passes(facts) && (facts.compat().orElse(true) || restsOnCompat(facts).isEmpty());
    }

    private boolean passes(DriverFacts facts) {
        return alternatives.stream().anyMatch(each -> each.test(facts) != Fulfilment.UNMET);
    }

    /**
     * The condition on CUDA that the host does not meet, of one that it meets by its driver's
     * branch: it does as long as CUDA libraries of the image's own, made for this branch, come
     * before the driver's. A newer minor version of CUDA needs none of them.
     */
    public Optional<Condition> restsOnCompat(DriverFacts facts) {
        boolean metByCuda =
                alternatives.stream()
                        .filter(each -> each.test(facts) != Fulfilment.UNMET)
                        .anyMatch(each -> each.properties().contains(Property.CUDA));
        return metByCuda || !passes(facts)
                ? Optional.empty()
                : alternatives.stream()
                        .flatMap(each -> each.conditions().stream())
                        .filter(each -> each.isOfNewerCuda(facts))
                        .findFirst();
    }

    /**
     * The conditions that it only passes because something is not known; empty when it is met
     * whatever that may be, or is not met.
     */
    Optional<Alternative> unknown(DriverFacts facts) {
        if (first(Fulfilment.MET, facts).isPresent()) {
            return Optional.empty();
        }
        return first(Fulfilment.UNKNOWN, facts)
                .map(alternative -> alternative.only(Fulfilment.UNKNOWN, facts));
    }

    /** In the image's order; one of them must hold. */
    public List<Alternative> alternatives() {
        return alternatives;
    }

    private Optional<Alternative> first(Fulfilment fulfilment, DriverFacts facts) {
        return alternatives.stream()
                .filter(alternative -> alternative.test(facts) == fulfilment)
                .findFirst();
    }

    private static List<Condition> conditions(String term) {
        return Arrays.stream(term.split(","))
                .filter(factor -> !factor.isEmpty())
                .map(Condition::parse)
                .toList();
    }
}
