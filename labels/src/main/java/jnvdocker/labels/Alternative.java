package jnvdocker.labels;

import java.util.List;
import java.util.stream.Collectors;

/** Conditions that must all hold; parted by commas in NVIDIA_REQUIRE_*. */
record Alternative(List<Condition> conditions) {
    /** A message names at most so many conditions. */
    private static final int SHOWN = 4;

    Alternative {
        conditions = List.copyOf(conditions);
    }

    Outcome test(DriverFacts facts) {
        Outcome outcome = Outcome.MET;
        for (Condition condition : conditions) {
            switch (condition.test(facts)) {
                case UNMET -> {
                    return Outcome.UNMET;
                }
                case UNKNOWN -> outcome = Outcome.UNKNOWN;
                case MET -> {}
            }
        }
        return outcome;
    }

    /** Only those of its conditions that came out so. */
    Alternative only(Outcome outcome, DriverFacts facts) {
        return new Alternative(
                conditions.stream().filter(condition -> condition.test(facts) == outcome).toList());
    }

    /** Each once, in the order of the enum. */
    List<Property> properties() {
        return conditions.stream().map(Condition::property).distinct().sorted().toList();
    }

    @Override
    public String toString() {
        String shown =
                conditions.stream()
                        .limit(SHOWN)
                        .map(Condition::toString)
                        .collect(Collectors.joining(","));
        return conditions.size() > SHOWN ? shown + ",…" : shown;
    }
}
