package jnvdocker.lease;

import java.time.Instant;
import java.util.List;
import java.util.Optional;

/**
 * A container that its engine was to start again when it had begun to run itself, and that was
 * refused a GPU then. It is started when it can have it.
 *
 * @param reasons why, as docker was told: at first, and the last few times since
 * @param seen what docker said of it afterwards, as soon as that is known
 */
public record RefusedStart(Claim claim, List<String> reasons, Instant since, Optional<Seen> seen) {
    public RefusedStart {
        reasons = List.copyOf(reasons);
    }

    /**
     * A container that does not run.
     *
     * @param container its id
     * @param finished when it had ended, as docker writes that
     */
    record Seen(String container, String finished) {}

    /** Why it was refused the last time. */
    public String reason() {
        return reasons.getLast();
    }

    /**
     * Whether a container that does not run is the one, and still waits for nothing but a GPU: its
     * policy would have it run, and what docker keeps as its error is what it was refused with.
     * Swarm makes another task for one that has ended.
     */
    boolean isOf(ContainerEngine.Down container) {
        boolean hasPolicy =
                switch (container.policy()) {
                    case "always", "unless-stopped", "on-failure" -> true;
                    default -> false;
                };
        return hasPolicy
                && container.labels().keySet().stream()
                        .noneMatch(label -> label.startsWith("com.docker.swarm."))
                && reasons.stream().anyMatch(container.error()::contains)
                && seen.filter(it -> !it.equals(new Seen(container.id(), container.finished())))
                        .isEmpty();
    }
}
