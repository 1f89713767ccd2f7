package jnvdocker.labels;

import jnvdocker.words.Quote;

/**
 * A requirement and the variable it was found in.
 *
 * @param name such as NVIDIA_REQUIRE_CUDA
 */
public record NamedRequirement(String name, Origin origin, Requirement requirement) {

    /** The origin of the variable. */
    public enum Origin {
        IMAGE("the image"),
        COMMAND_LINE("the command line");

        private final String words;

        Origin(String words) {
            this.words = words;
        }

        @Override
        public String toString() {
            return words;
        }
    }

    /** Such as "NVIDIA_REQUIRE_CUDA of the image". */
    String where() {
        return Quote.shown(name) + " of " + origin;
    }
}
