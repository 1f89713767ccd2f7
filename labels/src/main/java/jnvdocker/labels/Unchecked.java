package jnvdocker.labels;

import java.util.List;
import java.util.stream.Collectors;

/**
 * Something that passed only because a fact about the host is not known.
 *
 * @param need the conditions and where they stand, such as "cuda>=12.4 (label
 *     com.nvidia.cuda.version)"
 */
public record Unchecked(List<Property> unknown, String need) {
    public Unchecked {
        unknown = List.copyOf(unknown);
    }

    /** One line for the user. */
    public String message() {
        String names =
                unknown.stream().map(Property::toString).collect(Collectors.joining(" and "));
        return need
                + " was not checked: "
                + names
                + (unknown.size() > 1 ? " are" : " is")
                + " unknown";
    }
}
