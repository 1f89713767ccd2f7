package jnvdocker.labels;

import jnvdocker.words.Quote;

import java.util.Arrays;
import java.util.Optional;

/** One {@code property operator value} of NVIDIA_REQUIRE_*, without blanks. */
public sealed interface Condition {

    Property property();

    Fulfilment test(DriverFacts facts);

    /** Whether it requires a major version of CUDA that is newer than the driver's. */
    default boolean isOfNewerCuda(DriverFacts facts) {
        return false;
    }

    /**
     * @throws IllegalArgumentException quoting the text, when it is not a condition
     */
    static Condition parse(String text) {
        int start = 0;
        while (start < text.length() && !operatorCharacter(text.charAt(start))) {
            start++;
        }
        int end = start;
        while (end < text.length() && operatorCharacter(text.charAt(end))) {
            end++;
        }
        Property property =
                property(text.substring(0, start))
                        .orElseThrow(() -> invalid(text, "known are cuda, driver, arch and brand"));
        Operator operator =
                operator(text.substring(start, end))
                        .orElseThrow(() -> invalid(text, "known are = != < <= > and >="));
        String value = text.substring(end);
        if (property == Property.BRAND) {
            return brand(text, operator, value);
        }
        return version(text, property, operator, value);
    }

    /** A condition on the version of cuda, driver or arch. */
    record OfVersion(Property property, Operator operator, VersionNumber value)
            implements Condition {
        @Override
        public Fulfilment test(DriverFacts facts) {
            return facts.version(property)
                    .map(actual -> operator.holds(actual.compareTo(value)))
                    .map(held -> held ? Fulfilment.MET : Fulfilment.UNMET)
                    .orElse(Fulfilment.UNKNOWN);
        }

        @Override
        public boolean isOfNewerCuda(DriverFacts facts) {
            return property == Property.CUDA
                    && (operator == Operator.GREATER || operator == Operator.GREATER_OR_EQUAL)
                    && facts.cuda().filter(cuda -> cuda.major() < value.major()).isPresent();
        }

        @Override
        public String toString() {
            return property + operator.toString() + value;
        }
    }

    /** A condition on the brand: only = and !=, and case does not matter. */
    record OfBrand(Operator operator, String value) implements Condition {
        @Override
        public Property property() {
            return Property.BRAND;
        }

        @Override
        public Fulfilment test(DriverFacts facts) {
            return facts.brand()
                    .map(actual -> operator.holds(actual.compareToIgnoreCase(value)))
                    .map(held -> held ? Fulfilment.MET : Fulfilment.UNMET)
                    .orElse(Fulfilment.UNKNOWN);
        }

        @Override
        public String toString() {
            return Property.BRAND + operator.toString() + Quote.shown(value);
        }
    }

    private static boolean operatorCharacter(char c) {
        return "<>=!".indexOf(c) >= 0;
    }

    private static Optional<Property> property(String name) {
        return Arrays.stream(Property.values())
                .filter(property -> property.name().equalsIgnoreCase(name))
                .findFirst();
    }

    private static Optional<Operator> operator(String symbol) {
        return Arrays.stream(Operator.values())
                .filter(operator -> operator.toString().equals(symbol))
                .findFirst();
    }

    private static Condition brand(String text, Operator operator, String value) {
        if (operator != Operator.EQUAL && operator != Operator.NOT_EQUAL) {
            throw invalid(text, "a brand is compared with = or !=");
        }
        if (value.isEmpty()) {
            throw invalid(text, "the brand is missing");
        }
        return new OfBrand(operator, value);
    }

    private static Condition version(
            String text, Property property, Operator operator, String value) {
        try {
            return new OfVersion(property, operator, new VersionNumber(value));
        } catch (IllegalArgumentException e) {
            throw invalid(text, "a version is numbers and dots");
        }
    }

    private static IllegalArgumentException invalid(String text, String reason) {
        return new IllegalArgumentException(
                "invalid expression " + Quote.quoted(text) + ": " + reason);
    }
}
