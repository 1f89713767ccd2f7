package jnvdocker.volume.files;

import com.fasterxml.jackson.annotation.JsonCreator;
import com.fasterxml.jackson.annotation.JsonValue;

import java.util.stream.Stream;

/**
 * Why a file is left out of a driver's volume. A manifest has it in words, as every release has
 * written them, so that each reads what another one has left.
 */
public sealed interface Reason {

    /** In words, to be read after the path. */
    @JsonValue
    String words();

    /** Whether no container would ever get it, however well this host is. */
    default boolean byIntent() {
        return switch (this) {
            case Rule _, OtherDriver _, OtherThreading _ -> true;
            case Fault _ -> false;
        };
    }

    /** A reason that holds on every host. */
    enum Rule implements Reason {
        HOST_ONLY("manages the host's driver"),
        X_SERVER("a module of the X server"),
        SETTINGS("belongs to nvidia-settings");

        private final String words;

        Rule(String words) {
            this.words = words;
        }

        @Override
        public String words() {
            return words;
        }
    }

    /** The file is of another version of the driver. */
    record OtherDriver(String version) implements Reason {
        private static final String WORDS = "belongs to driver ";

        @Override
        public String words() {
            return WORDS + version;
        }
    }

    /** The file's thread-local storage is for kernels that no container runs on. */
    record OtherThreading(String kernel) implements Reason {
        private static final String WORDS = "for the thread-local storage of kernel ";

        @Override
        public String words() {
            return WORDS + kernel;
        }
    }

    /** Something is wrong with it, or another one is taken in its place. */
    record Fault(String words) implements Reason {}

    /** Reads what a manifest says; what no release has a rule for is taken for a fault. */
    @JsonCreator
    static Reason parse(String words) {
        if (words.startsWith(OtherDriver.WORDS)) {
            return new OtherDriver(words.substring(OtherDriver.WORDS.length()));
        }
        if (words.startsWith(OtherThreading.WORDS)) {
            return new OtherThreading(words.substring(OtherThreading.WORDS.length()));
        }
        return Stream.of(Rule.values())
                .filter(rule -> rule.words.equals(words))
                .<Reason>map(rule -> rule)
                .findFirst()
                .orElseGet(() -> new Fault(words));
    }
}
