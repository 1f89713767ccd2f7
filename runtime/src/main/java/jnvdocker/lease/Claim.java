package jnvdocker.lease;

import java.security.SecureRandom;
import java.time.Instant;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;

/**
 * A container's right to ask for certain GPUs. It lives as long as the container does. That of a
 * process of the host, or of a Mesos task, ends with its lease.
 *
 * @param id 12 hexadecimal digits
 * @param engine the engine's own id, since a container means nothing to another engine; or the
 *     address of one that is not the daemon's; {@link #HOST} for a process of the host, {@link
 *     #MESOS} for a container of a Mesos agent
 * @param gpus in order of index
 * @param image the container's, the process's program, or the task's name
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
    /** In place of an engine, for a process of the host. */
    public static final String HOST = "";

    /** In place of an engine, for a Mesos task. */
    public static final String MESOS = "mesos";

    private static final Pattern ID = Pattern.compile("[0-9a-f]{12}");
    private static final SecureRandom RANDOM = new SecureRandom();

    public Claim {
        gpus = List.copyOf(gpus);
    }

    /**
     * The container of a claim.
     *
     * @param id 64 hexadecimal digits; for Mesos {@code ID}, or {@code ID.NESTED}
     */
    public record ContainerRef(String id, String name) {}

    /** Whether it is not a container's, but a process's of the host. */
    public boolean isOfProcess() {
        return engine.equals(HOST);
    }

    /** Whether it is not a container's of docker, but a Mesos task's. */
    public boolean isOfTask() {
        return engine.equals(MESOS);
    }

    /** Whether docker knows nothing of it, so that it is over when its one lease is. */
    public boolean isWithoutDocker() {
        return isOfProcess() || isOfTask();
    }

    /** One that no other claim has. */
    public static String newId() {
        byte[] id = new byte[6];
        RANDOM.nextBytes(id);
        return HexFormat.of().formatHex(id);
    }

    public static boolean isId(String text) {
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
