package jnvdocker.lease;

import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;

/**
 * A container's right to ask for certain GPUs. It lives as long as the container does. That of a
 * process of the host ends with its lease.
 *
 * @param id 12 hexadecimal digits
 * @param engine the engine's own id, since a container means nothing to another engine; or the
 *     address of one that is not the daemon's; {@link #HOST} for a process of the host
 * @param gpus in order of index
 * @param image the container's, or the process's program
 * @param container empty until the engine has told of it
 */
public record Claim(
        String id,
        String engine,
        Owner owner,
        List<ClaimedGpu> gpus,
        String image,
        Instant created,
        Optional<ContainerRef> container) {
    /** In place of an engine. */
    public static final String HOST = "";

    private static final Pattern ID = Pattern.compile("[0-9a-f]{12}");

    public Claim {
        gpus = List.copyOf(gpus);
    }

    /**
     * The container of a claim.
     *
     * @param id 64 hexadecimal digits
     */
    public record ContainerRef(String id, String name) {}

    /** Whether it is not a container's, but a process's of the host. */
    public boolean isOfProcess() {
        return engine.equals(HOST);
    }

    static boolean isId(String text) {
        return ID.matcher(text).matches();
    }

    /**
     * What its container is called, or will be known by until it has a name; or the process's
     * program.
     */
    public String displayName() {
        return container.map(ContainerRef::name).orElse("(" + image + ")");
    }
}
