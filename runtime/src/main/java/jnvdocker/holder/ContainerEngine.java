package jnvdocker.holder;

import jnvdocker.lease.Claim;
import jnvdocker.lease.ClaimNames;
import jnvdocker.lease.RefusedStart;
import jnvdocker.words.ForeignText;

import java.io.IOException;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The questions of leases to a container engine. Each has a limit, after which it failed. */
public interface ContainerEngine {
    /**
     * A container as the engine lists it.
     *
     * @param state created, running, paused, restarting, removing, exited or dead
     * @param volumes names of those it mounts
     */
    record Listed(
            String id,
            String name,
            String state,
            Map<String, String> labels,
            List<String> volumes) {
        public Listed {
            name = ForeignText.name(name);
        }

        public boolean isRestarting() {
            return state.equals("restarting");
        }

        /** Whether there is a first process, or will be one again without a further request. */
        public boolean isActive() {
            return switch (state) {
                case "running", "paused", "restarting" -> true;
                default -> false;
            };
        }
    }

    /**
     * A container that the engine was able to inspect, so that it is not just being started.
     *
     * @param pid of its first process, 0 when it does not run
     * @param image the id of its image; empty where the engine reports none
     * @param labels those of its user and of its image
     * @param volumes names of those it mounts
     */
    record Inspected(
            String id,
            String name,
            String image,
            int pid,
            boolean restarting,
            Map<String, String> labels,
            List<String> volumes) {
        public Inspected {
            name = ForeignText.name(name);
        }
    }

    /**
     * A container that the engine does not run, and is not about to.
     *
     * @param policy of its restarts: no, always, unless-stopped, on-failure, or nothing
     * @param error why it could not be started the last time; empty when it could
     * @param finished when it had run last, as the engine writes that
     */
    record Down(
            String id,
            String name,
            String policy,
            String error,
            String finished,
            Map<String, String> labels) {
        public Down {
            name = ForeignText.name(name);
        }

        /** Begins the end of what has never run. */
        private static final String NEVER = "0001-";

        /** Begins whatever our OCI runtime says. */
        private static final String OURS = "jnvdocker: ";

        /** What our OCI runtime reports when no daemon answers it (query.c). */
        private static final Pattern NO_DAEMON =
                Pattern.compile(
                        "no jnvdockerd answers at|jnvdockerd did not answer|jnvdockerd went away");

        /** What we report when no driver is loaded (HostDriver, DeviceNodes). */
        private static final Pattern NO_DRIVER = Pattern.compile("no NVIDIA driver is loaded.*");

        /** What docker reports of a node of its --device that is not there. */
        private static final Pattern NO_NODE =
                Pattern.compile("custom device \"[^\"]*?(/dev/nvidia[^\"]*)\": no such file");

        /** What we report when a claim's GPU is not there (ClaimedNodes). */
        private static final Pattern NO_GPU =
                Pattern.compile("(?:GPU|instance) \\S+ \\([^)]*\\) is no longer on this host");

        /**
         * Whether it is the one that was refused a start, and still waits for nothing but a GPU:
         * its policy would have it run, and what docker keeps as its error is what it was refused
         * with. Swarm makes another task for one that has ended.
         */
        public boolean isOf(RefusedStart refused) {
            RefusedStart.Seen now = new RefusedStart.Seen(id, finished);
            return isMeantToRun()
                    && refused.reasons().stream().anyMatch(error::contains)
                    && refused.seen().filter(it -> !it.equals(now)).isEmpty();
        }

        private boolean isMeantToRun() {
            boolean hasPolicy =
                    switch (policy) {
                        case "always", "unless-stopped", "on-failure" -> true;
                        default -> false;
                    };
            return hasPolicy
                    && labels.keySet().stream()
                            .noneMatch(label -> label.startsWith("com.docker.swarm."));
        }

        /**
         * What our OCI runtime, or the lack of our volume plugin, has kept it down with, though it
         * ran before and its policy would have it run.
         *
         * @param volumeDriver the plugin's name
         */
        public Optional<String> obstacle(String volumeDriver) {
            int ours = error.indexOf(OURS);
            if (!isMeantToRun() || finished.startsWith(NEVER)) {
                return Optional.empty();
            }
            if (ours >= 0) {
                return Optional.of(error.substring(ours + OURS.length()));
            }
            if (hadNoPlugin(volumeDriver)) {
                return Optional.of("nothing served docker's volume plugin " + volumeDriver);
            }
            // Docker has refused to mount the driver's volume.
            return Optional.of(NO_DRIVER.matcher(error))
                    .filter(Matcher::find)
                    .map(Matcher::group)
                    .or(this::lackedGpu);
        }

        /**
         * The GPU of its claim that was away at its last start; docker finds no node of the GPU, or
         * we do not mount the claim's volume. Its policy does not try that again.
         */
        public Optional<String> lackedGpu() {
            if (!isMeantToRun()
                    || finished.startsWith(NEVER)
                    || !labels.containsKey(ClaimNames.CLAIM_LABEL)) {
                return Optional.empty();
            }
            Matcher node = NO_NODE.matcher(error);
            return node.find()
                    ? Optional.of("there was no " + node.group(1))
                    : Optional.of(NO_GPU.matcher(error)).filter(Matcher::find).map(Matcher::group);
        }

        /**
         * What it lacked at a start that nobody but the engine knows of, and that its policy does
         * not try again: the daemon, or the driver.
         */
        public Optional<String> lacked(String volumeDriver) {
            if (obstacle(volumeDriver).isEmpty()) {
                return Optional.empty();
            }
            if (NO_DAEMON.matcher(error).find() || hadNoPlugin(volumeDriver)) {
                return Optional.of("jnvdockerd did not run");
            }
            return Optional.of("no NVIDIA driver was loaded")
                    .filter(_ -> NO_DRIVER.matcher(error).find());
        }

        private boolean hadNoPlugin(String volumeDriver) {
            return error.contains("volume plugin " + volumeDriver)
                    || error.contains("%2F" + volumeDriver + ".sock/");
        }

        /**
         * Whether it is the same, and has neither run since nor become one that is to stay down.
         */
        public boolean isStill(Down before) {
            return isMeantToRun() && id.equals(before.id) && finished.equals(before.finished);
        }
    }

    /**
     * Whether the engine has answered since it has been notifying us of its events: while it starts
     * it has volumes mounted, and answers nobody. An engine that makes no progress counts as
     * started, too.
     */
    boolean hasStarted();

    /**
     * Whether podman answers in Docker's place: its commands start and stop containers by
     * themselves, so its answer of a moment says nothing of what a command is about to do.
     */
    boolean isPodman(Duration limit) throws IOException;

    /** The engine's own id, as far as it is known without a query. */
    Optional<String> knownId();

    /** The engine's own id. A container's id means nothing to another engine. */
    String id(Duration limit) throws IOException;

    /** Containers that carry the label, running or not. */
    List<Listed> labelled(String label, Duration limit) throws IOException;

    /**
     * Whether compose has created a container in place of that one, and has not started the new one
     * yet. Compose stops and removes the other one meanwhile, and gives the new one its name after
     * that.
     */
    default boolean hasSuccessor(Claim.ContainerRef other, Duration limit) throws IOException {
        return labelled("com.docker.compose.replace", limit).stream()
                .filter(it -> it.state().equals("created"))
                .map(Listed::name)
                .anyMatch(name ->
                        name.equals(other.name())
                                || name.equals(other.shortId() + "_" + other.name()));
    }

    /** All containers, running or not. */
    List<Listed> all(Duration limit) throws IOException;

    /** Containers that mount any of these volumes, running or not. */
    List<Listed> using(Collection<String> volumes, Duration limit) throws IOException;

    /** Waits while the container is being started or stopped; empty when there is none. */
    Optional<Inspected> inspect(String container, Duration limit) throws IOException;

    /** The labels of an image, which its author has written; empty when there is no such image. */
    Optional<Map<String, String>> imageLabels(String image, Duration limit) throws IOException;

    /** Waits likewise; empty when there is none, or it runs, or is about to. */
    Optional<Down> down(String container, Duration limit) throws IOException;

    /**
     * Containers that have ended, up to a fixed number of them. Waits while any of them is being
     * started or stopped.
     */
    List<Down> ended(Duration limit) throws IOException;

    /** Starts a container; one that runs is no error. */
    void start(String container, Duration limit) throws IOException;

    /**
     * Stops a container as its user's own {@code docker stop} does; one that does not run is no
     * error.
     *
     * @return false when there is none
     */
    boolean stop(String container, Duration limit) throws IOException;

    /** Removes a volume. Returns false when a container still names it, true when it is gone. */
    boolean removeVolume(String volume, Duration limit) throws IOException;
}
