package jnvdocker.lease;

import jnvdocker.words.ForeignText;

import java.time.Instant;
import java.util.Optional;

/**
 * A time in which a GPU could be given to nobody, though nobody held it under a lease.
 *
 * @param gpu its UUID
 * @param state the reason, see {@link GpuStatus.State#isTrouble}
 * @param user of an unmanaged use, as far as that is known
 * @param until when it was last seen
 */
public record Trouble(
        String gpu, GpuStatus.State state, Optional<String> user, Instant since, Instant until) {
    public Trouble {
        user = ForeignText.name(user);
    }
}
