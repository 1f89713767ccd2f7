package jnvdocker.labels;

import java.util.List;
import java.util.stream.Collectors;

/**
 * A need of an image that passed without a check.
 *
 * @param need the conditions and where they stand, such as "cuda>=12.4 (label
 *     com.nvidia.cuda.version)"
 * @param why the reason, as a clause
 */
public record Unchecked(String need, String why) {

    /** Conditions on facts about the host that are not known. */
    static Unchecked unknown(List<Property> unknown, String need) {
        String names =
                unknown.stream().map(Property::toString).collect(Collectors.joining(" and "));
        return new Unchecked(need, names + (unknown.size() > 1 ? " are" : " is") + " unknown");
    }

    /** One line for the user. */
    public String message() {
        return need + " was not checked: " + why;
    }
}
