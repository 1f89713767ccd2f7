package jnvdocker.lease;

import jnvdocker.request.MemorySize;
import jnvdocker.words.ForeignText;

import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;

/**
 * A container's right to request certain GPUs. It lives as long as the container does. That of a
 * process of the host, or of a Mesos task, ends with its lease.
 *
 * @param key its id, and the secret that its container names it by
 * @param origin the container, process or task that it belongs to
 * @param gpus in order of index
 * @param container empty until the engine has reported it
 * @param party the claims of this party, all of one user, may have the same GPUs at one time: the
 *     id of the first of them, be it this one
 */
public record Claim(
        ClaimKey key,
        Origin origin,
        Owner owner,
        List<ClaimedGpu> gpus,
        Instant created,
        Optional<ContainerRef> container,
        String party) {
    private static final Pattern ID = Pattern.compile("[0-9a-f]{12}");

    /** As many digits of a container's id as docker shows. */
    private static final int SHORT_ID = 12;

    public Claim {
        gpus = List.copyOf(gpus);
    }

    /** A claim whose GPUs nobody else may have. */
    public Claim(
            ClaimKey key,
            Origin origin,
            Owner owner,
            List<ClaimedGpu> gpus,
            Instant created,
            Optional<ContainerRef> container) {
        this(key, origin, owner, gpus, created, container, key.id());
    }

    /**
     * The container of a claim.
     *
     * @param id 64 hexadecimal digits; for Mesos {@code ID}, or {@code ID.NESTED}
     */
    public record ContainerRef(String id, String name) {
        public ContainerRef {
            id = ForeignText.cut(id, ForeignText.PATH);
            name = ForeignText.name(name);
        }

        /** As much of the id as docker shows. */
        public String shortId() {
            return Claim.shortId(id);
        }
    }

    /** The id, which every user may see: 12 hexadecimal digits. */
    public String id() {
        return key.id();
    }

    /** As much of a container's id as docker shows. */
    public static String shortId(String container) {
        return container.substring(0, Math.min(SHORT_ID, container.length()));
    }

    public static boolean isId(String text) {
        return ID.matcher(text).matches();
    }

    /** Whether a container of this id is the claim's own. */
    public boolean isOfContainer(String containerId) {
        return container.filter(own -> own.id().equals(containerId)).isPresent();
    }

    /** The amount of memory that is claimed of each GPU; empty for whole ones. */
    public Optional<MemorySize> share() {
        return gpus.getFirst().share().map(Share::amount);
    }

    /** Whether both may have the same whole GPUs at one time. */
    public boolean isBeside(Claim other) {
        return party.equals(other.party);
    }

    /** A copy with another pod, of which more is known, and its owner. */
    public Claim of(Origin.Pod known) {
        return new Claim(key, known, known.owner(), gpus, created, container, party);
    }

    /** A copy with some of its GPUs. */
    public Claim of(List<ClaimedGpu> some) {
        return new Claim(key, origin, owner, some, created, container, party);
    }

    /** The name of its container, or its id until it has a name; or the process's program. */
    public String displayName() {
        return container.map(ContainerRef::name).orElse("(" + origin.title() + ")");
    }
}
