package jnvdocker.use;

import java.time.Instant;
import java.util.Optional;

/**
 * A container that observes the GPUs of this host: it requested all of them with the capability
 * {@code utility} alone, as monitoring does, and so has the nodes by which NVML reads them, none by
 * which CUDA computes, and no lease.
 *
 * @param owner the name of its user
 * @param since when it was started
 */
public record Observer(
        String id, String name, Optional<String> image, String owner, Instant since) {}
