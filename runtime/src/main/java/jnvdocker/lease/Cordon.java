package jnvdocker.lease;

import jnvdocker.labels.Quote;

import java.time.Instant;

/** Why a GPU gets no new lease though nobody has it. Who has one already keeps it. */
public sealed interface Cordon {

    /** {@code cordoned by root since 09:12 (fan is loud)}. */
    String words();

    /** What an administrator does to have it given out again, after "to". */
    String remedy(int index);

    /**
     * {@code jnvdocker gpu cordon}.
     *
     * @param reason in the administrator's own words; may be empty
     */
    record ByCommand(Owner owner, Instant since, String reason) implements Cordon {
        @Override
        public String words() {
            return "cordoned by "
                    + Quote.shown(owner.name())
                    + " since "
                    + Refusals.time(since)
                    + (reason.isEmpty() ? "" : " (" + Quote.shown(reason) + ")");
        }

        @Override
        public String remedy(int index) {
            return "jnvdocker gpu uncordon " + index;
        }
    }

    /**
     * The configuration.
     *
     * @param key the key and its file
     */
    record ByFile(String key) implements Cordon {
        @Override
        public String words() {
            return "cordoned (" + key + ")";
        }

        @Override
        public String remedy(int index) {
            return "take it out of " + key + ", then restart jnvdockerd";
        }
    }
}
