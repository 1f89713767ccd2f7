package jnvdocker.holder;

import jnvdocker.lease.Claim;
import jnvdocker.lease.ClaimNames;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Owner;
import jnvdocker.lease.text.ContainerOwner;
import jnvdocker.lease.text.HoldersText;
import jnvdocker.words.Quote;
import jnvdocker.words.RefusedException;

import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Predicate;
import java.util.stream.Collectors;

/**
 * The containers that mount a claim's volume, by their engine's list: the claim's own, copies of
 * its settings, and guests, which have its volumes ({@code --volumes-from}) and need no GPU.
 */
public final class ClaimUsers {
    private static final Duration LIST_LIMIT = Duration.ofMillis(200);

    /** A start depends on the answer, and docker is busy when it has just made a container. */
    private static final Duration OWNER_LIMIT = Duration.ofSeconds(2);

    private final ContainerEngine engine;
    private final ContainerOwner owners;

    public ClaimUsers(ContainerEngine engine, ContainerOwner owners) {
        this.engine = engine;
        this.owners = owners;
    }

    /**
     * Whether docker mounts the claim of a live lease for a container that has the volumes of the
     * claim's own alone (--volumes-from), and so neither its GPUs' nodes nor the label that a copy
     * of its settings has. Docker mounts all of its volumes or none, and the guest need not have
     * the claim.
     *
     * @param lives whether what lives of the lease's holder, if anything, is of that container
     * @throws RefusedException when docker may mount the claim for a container that neither is a
     *     guest nor has the lease
     */
    public boolean isGuestOfLive(Claim claim, Lease lease, Predicate<ContainerEngine.Listed> lives)
            throws RefusedException {
        List<ContainerEngine.Listed> users = of(claim);
        List<ContainerEngine.Listed> own = own(claim, users);
        if (own.size() == 1 && users.size() > 1 && isUp(own.getFirst())) {
            return true;
        }
        // The container that is started need not be the one that lives: that may have been removed.
        if (starting(own, users).filter(lives).isEmpty()) {
            throw twice(claim, lease, users);
        }
        return false;
    }

    /** Whether a container runs, or waits for its policy's next start, which has not begun. */
    private boolean isUp(ContainerEngine.Listed container) {
        return container.isActive() && !(container.isRestarting() && isStarting(container));
    }

    /**
     * The container for which docker mounts a claim: the only one that mounts it, or the claim's
     * own, if no other is being started; empty when that cannot be told.
     */
    private Optional<ContainerEngine.Listed> starting(
            List<ContainerEngine.Listed> own, List<ContainerEngine.Listed> users) {
        if (users.size() == 1) {
            return Optional.of(users.getFirst());
        }
        boolean isOwn =
                own.size() == 1
                        && users.stream().filter(this::isStarting).limit(2).toList().equals(own);
        return isOwn ? Optional.of(own.getFirst()) : Optional.empty();
    }

    /** Those of the containers that carry the claim's label. */
    private static List<ContainerEngine.Listed> own(
            Claim claim, List<ContainerEngine.Listed> users) {
        return users.stream()
                .filter(user ->
                        ClaimNames.ofLabel(user.labels()).filter(claim.key()::equals).isPresent())
                .toList();
    }

    /**
     * Whether docker mounts the claim for a container that has the volumes of the claim's own,
     * which is stopped.
     *
     * @throws RefusedException when docker mounts the claim, or may mount the claim, for another
     *     container than its own that is no guest: every member of the group docker sees the name
     *     of the volume
     */
    public boolean isGuestOfStopped(Claim claim) throws RefusedException {
        if (claim.container().isEmpty() || !engine.hasStarted()) {
            // An engine that starts answers nobody.
            return false;
        }
        List<ContainerEngine.Listed> users = of(claim);
        Map<Boolean, List<ContainerEngine.Listed>> byOwn =
                users.stream()
                        .collect(Collectors.partitioningBy(it -> claim.isOfContainer(it.id())));
        List<ContainerEngine.Listed> others = byOwn.get(false);
        if (byOwn.get(true).isEmpty() || others.isEmpty()) {
            return false;
        }
        ContainerEngine.Listed its = byOwn.get(true).getFirst();
        if (isStopped(its)) {
            if (own(claim, others).isEmpty()) {
                return true;
            }
            throw refused(
                    "this container is a copy of the settings of container %s, and has its claim"
                            .formatted(Quote.shown(its.name())));
        }
        for (ContainerEngine.Listed other : others) {
            if (isStarting(other)) {
                throw refused(
                        "containers %s and %s have the same claim and are started at the same time"
                                .formatted(Quote.shown(its.name()), Quote.shown(other.name())));
            }
        }
        return false;
    }

    /**
     * Refuses the container of another user than the claim's, which was made with the settings or
     * the volume of one that is gone; and where a partner of the claim has its GPUs, each container
     * that is not known to be the same user's. An engine that starts answers nobody; it starts what
     * ran before, which was asked for then.
     */
    public void refuseAnothers(Claim claim, boolean hasPartner) throws RefusedException {
        if (!engine.hasStarted()) {
            return;
        }
        List<ContainerEngine.Listed> users;
        try {
            users = engine.using(List.of(ClaimNames.volume(claim.key())), OWNER_LIMIT);
        } catch (IOException e) {
            throw new RefusedException(
                    "docker does not report whose container this is, which was made again with an"
                            + " earlier one's claim",
                    "start it again later");
        }
        for (ContainerEngine.Listed user : users) {
            Owner owner = owners.of(user.labels());
            boolean isKnown = !owner.isUnknown();
            if ((isKnown || hasPartner) && !ContainerOwner.isSame(owner, claim.owner())) {
                throw refused(
                        "container %s is %s, and has the settings of one of %s's"
                                .formatted(
                                        Quote.shown(user.name()),
                                        isKnown
                                                ? Quote.shown(owner.name()) + "'s"
                                                : "of a user who is not known",
                                        Quote.shown(claim.owner().name())));
            }
        }
    }

    private static RefusedException refused(String what) {
        return new RefusedException(
                what,
                "start the claim's container alone, or give this one GPUs of its own with"
                        + " 'jnvdocker run --gpus'");
    }

    /**
     * Whether a container has ended, and is not being started: an engine answers nothing about a
     * container that it starts. One that waits for its policy's next start is stopped meanwhile.
     */
    private boolean isStopped(ContainerEngine.Listed container) {
        try {
            return engine.inspect(container.id(), LIST_LIMIT)
                    .filter(it -> it.pid() == 0)
                    .isPresent();
        } catch (IOException e) {
            return false;
        }
    }

    /** Of a container that it starts, an engine reports nothing before the end. */
    private boolean isStarting(ContainerEngine.Listed container) {
        try {
            engine.inspect(container.id(), LIST_LIMIT);
            return false;
        } catch (IOException e) {
            return true;
        }
    }

    /**
     * The containers that mount the claim; none when the engine does not answer in time. An engine
     * that starts answers nobody, and starts its containers one after the other.
     */
    public List<ContainerEngine.Listed> of(Claim claim) {
        try {
            return engine.using(
                    List.of(ClaimNames.volume(claim.key())),
                    engine.hasStarted() ? OWNER_LIMIT : LIST_LIMIT);
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
