package jnvdocker.holder;

import jnvdocker.lease.Claim;
import jnvdocker.lease.ClaimNames;
import jnvdocker.lease.Lease;
import jnvdocker.lease.text.HoldersText;
import jnvdocker.words.RefusedException;

import java.io.IOException;
import java.time.Duration;
import java.util.List;

/**
 * The containers that mount a claim's volume, by their engine's list: the claim's own, copies of
 * its settings, and guests, which have its volumes ({@code --volumes-from}) and need no GPU.
 */
public final class ClaimUsers {
    private static final Duration LIST_LIMIT = Duration.ofMillis(200);

    private final ContainerEngine engine;

    public ClaimUsers(ContainerEngine engine) {
        this.engine = engine;
    }

    /**
     * Whether a container that mounts the claim of one that runs has its volumes alone
     * (--volumes-from), and so neither its GPUs' nodes nor the label that a copy of its settings
     * has. Docker mounts all of its volumes or none, and the guest need not have the claim.
     */
    public static boolean isGuest(Claim claim, List<ContainerEngine.Listed> users) {
        List<ContainerEngine.Listed> own = own(claim, users);
        return own.size() == 1 && own.getFirst().isActive() && users.size() > 1;
    }

    /** Those of the containers that carry the claim's label. */
    private static List<ContainerEngine.Listed> own(
            Claim claim, List<ContainerEngine.Listed> users) {
        return users.stream()
                .filter(user -> claim.id().equals(user.labels().get(ClaimNames.CLAIM_LABEL)))
                .toList();
    }

    /**
     * Whether it is a container that has the volumes of the claim's own, which is stopped, and not
     * that one which starts: of a container that it starts an engine says nothing before the end.
     */
    public boolean isGuestOfStopped(Claim claim) {
        if (claim.container().isEmpty()) {
            return false;
        }
        List<ContainerEngine.Listed> users = of(claim);
        List<String> own = own(claim, users).stream().map(ContainerEngine.Listed::id).toList();
        if (users.size() < 2 || !own.equals(List.of(claim.container().get().id()))) {
            return false;
        }
        try {
            return engine.inspect(own.getFirst(), LIST_LIMIT)
                    .filter(it -> it.pid() == 0 && !it.restarting())
                    .isPresent();
        } catch (IOException e) {
            return false;
        }
    }

    /** The containers that mount the claim; none when the engine does not answer in time. */
    public List<ContainerEngine.Listed> of(Claim claim) {
        try {
            return engine.using(List.of(ClaimNames.volume(claim.id())), LIST_LIMIT);
        } catch (IOException e) {
            return List.of();
        }
    }

    /** The refusal of a second container; the claim's own need not be the one that runs. */
    public static RefusedException twice(
            Claim claim, Lease lease, List<ContainerEngine.Listed> users) {
        String other =
                users.stream()
                        .filter(ContainerEngine.Listed::isActive)
                        .map(user -> "container " + user.name())
                        .findFirst()
                        .orElse("that container");
        return new RefusedException(
                HoldersText.held(claim.gpus(), List.of(lease))
                        + ", and this container shares its claim with "
                        + other
                        + " (--volumes-from, or a copy of its settings)",
                "stop that container first, or give this one GPUs of its own with 'jnvdocker run"
                        + " --gpus'");
    }
}
