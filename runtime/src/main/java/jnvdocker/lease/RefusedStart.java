package jnvdocker.lease;

import jnvdocker.words.ForeignText;

import java.time.Instant;
import java.util.List;
import java.util.Optional;

/**
 * A container that its engine was to start again when it had begun to run itself, and that was
 * refused a GPU then. It is started when it can have it.
 *
 * @param reasons the last few different ones that docker was given, the latest last; for a start
 *     that no daemon saw, docker's own error
 * @param what why it was refused the last time, without what to do about it
 * @param seen docker's word on it afterwards, as soon as that is known
 */
public record RefusedStart(
        Claim claim, List<String> reasons, String what, Instant since, Optional<Seen> seen) {
    public RefusedStart {
        reasons =
                reasons.stream()
                        .map(reason -> ForeignText.beginning(reason, ForeignText.LINE))
                        .toList();
        what = ForeignText.line(what);
    }

    /** The same, of any of the containers that were refused. */
    public RefusedStart unseen() {
        return new RefusedStart(claim, reasons, what, since, Optional.empty());
    }

    /**
     * A container that does not run.
     *
     * @param container its id
     * @param finished when it had ended, as docker writes that
     */
    public record Seen(String container, String finished) {}
}
