package jnvdocker.command.gpu;

import jnvdocker.labels.Alternative;
import jnvdocker.labels.DriverFacts;
import jnvdocker.labels.NamedRequirement;
import jnvdocker.labels.Outcome;

import java.util.List;
import java.util.Locale;
import java.util.Optional;

/** The needs of an image as {@code needs} prints them. */
record NeedsJson(
        String image,
        String file,
        String platform,
        boolean gpus,
        List<String> askedBy,
        String cudaLabel,
        String driverCapabilities,
        boolean requireDisabled,
        List<Variable> requirements,
        String driver,
        String driverCuda,
        Boolean compatFirst,
        boolean met,
        List<String> reasons,
        List<String> unchecked) {

    /** A variable; one of its alternatives must be met. */
    record Variable(String variable, Boolean met, List<Conditions> alternatives) {
        static Variable of(NamedRequirement named, Optional<DriverFacts> driver) {
            return new Variable(
                    named.name(),
                    driver.map(named.requirement()::isMetBy).orElse(null),
                    named.requirement().alternatives().stream()
                            .map(alternative -> Conditions.of(alternative, driver))
                            .toList());
        }
    }

    /** An alternative; all of its conditions must be met. */
    record Conditions(String conditions, String outcome, String unmet, String values) {
        static Conditions of(Alternative alternative, Optional<DriverFacts> driver) {
            return new Conditions(
                    alternative.whole(),
                    driver.map(facts -> word(alternative.test(facts))).orElse(null),
                    driver.map(facts -> alternative.only(Outcome.UNMET, facts))
                            .filter(unmet -> !unmet.conditions().isEmpty())
                            .map(Alternative::whole)
                            .orElse(null),
                    driver.map(alternative::values).orElse(null));
        }
    }

    private static String word(Outcome outcome) {
        return outcome.name().toLowerCase(Locale.ROOT);
    }
}
