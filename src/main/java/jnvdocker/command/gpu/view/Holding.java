package jnvdocker.command.gpu.view;

import jnvdocker.host.Gpu;
import jnvdocker.lease.Claim;
import jnvdocker.lease.ClaimedGpu;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Owner;
import jnvdocker.lease.text.ContainerOwner;
import jnvdocker.lease.text.LeaseText;
import jnvdocker.use.GpuUse;
import jnvdocker.use.RunningContainer;
import jnvdocker.words.Indices;
import jnvdocker.words.Quote;

import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;

/** Formats leases for display. Names come from users and engines, so they are quoted. */
public final class Holding {
    private static final ContainerOwner OWNERS = new ContainerOwner(Set::of);

    private Holding() {}

    /** How a refusal names the request of a program. */
    public static String purpose(String program) {
        return "gpu run of " + program;
    }

    public static String user(Lease lease) {
        return Quote.shown(lease.claim().owner().name());
    }

    /** Returns {@code alice?} if a container's labels are the only evidence. */
    public static Optional<String> guess(GpuUse use) {
        return use.container()
                .map(RunningContainer::labels)
                .map(OWNERS::of)
                .filter(owner -> !owner.equals(Owner.UNKNOWN))
                .map(Owner::name)
                .map(Quote::shown);
    }

    /** Returns the user, with a question mark if it is a guess. */
    public static String user(GpuUse use) {
        return LeaseText.owner(use)
                .map(Owner::name)
                .map(Quote::shown)
                .or(() -> guess(use))
                .orElse("-");
    }

    /** Shortens an id as docker does. */
    public static String shortId(String container) {
        return Quote.shown(Claim.shortId(container));
    }

    /**
     * Returns a container as a command takes it: its name, or its id when the name is too long to
     * be shown.
     */
    public static String typed(String id, String name) {
        return Quote.shown(name).equals(name) ? name : shortId(id);
    }

    public static String indices(Lease lease) {
        return Indices.numbers(lease.claim().gpus().stream().map(ClaimedGpu::number));
    }

    /** Returns {@code GPU 0 (GPU-5c1a0000), GPU 2 (GPU-5c1a2006)}. */
    public static String gpus(Lease lease) {
        return gpus(lease.claim());
    }

    public static String gpus(Claim claim) {
        return claim.gpus().stream()
                .map(gpu -> LeaseText.name(gpu.number(), gpu.uuid()))
                .collect(Collectors.joining(", "));
    }

    /** Returns the other GPUs of the same claim. */
    public static Optional<String> others(Lease lease, Gpu gpu) {
        List<String> others =
                lease.claim().gpus().stream()
                        .filter(claimed -> !claimed.uuid().equals(gpu.uuid()))
                        .map(ClaimedGpu::number)
                        .toList();
        String indices = Indices.numbers(others.stream());
        return switch (others.size()) {
            case 0 -> Optional.empty();
            case 1 -> Optional.of("GPU " + indices);
            default -> Optional.of("GPUs " + indices);
        };
    }
}
