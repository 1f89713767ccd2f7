package jnvdocker.labels;

import java.util.List;
import java.util.stream.Collectors;

/** Conditions that must all hold; separated by commas in NVIDIA_REQUIRE_*. */
public record Alternative(List<Condition> conditions) {
    /** The limit of conditions in a message. */
    private static final int SHOWN = 4;

    public Alternative {
        conditions = List.copyOf(conditions);
    }

    public Fulfilment test(DriverFacts facts) {
        Fulfilment fulfilment = Fulfilment.MET;
        for (Condition condition : conditions) {
            switch (condition.test(facts)) {
                case UNMET -> {
                    return Fulfilment.UNMET;
                }
                case UNKNOWN -> fulfilment = Fulfilment.UNKNOWN;
                case MET -> {}
            }
        }
        return fulfilment;
    }

    /** The conditions with this fulfilment. */
    public Alternative only(Fulfilment fulfilment, DriverFacts facts) {
        return new Alternative(
                conditions.stream()
                        .filter(condition -> condition.test(facts) == fulfilment)
                        .toList());
    }

    /** Each once, in the order of the enum. */
    List<Property> properties() {
        return conditions.stream().map(Condition::property).distinct().sorted().toList();
    }

    /** The host's value of each property: "cuda is 12.2, brand is unknown". */
    public String values(DriverFacts facts) {
        return properties().stream()
                .map(property -> property + " is " + facts.shown(property))
                .collect(Collectors.joining(", "));
    }

    /** All its conditions, as the image has them. */
    public String whole() {
        return conditions.stream().map(Condition::toString).collect(Collectors.joining(","));
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
