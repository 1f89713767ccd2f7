package jnvdocker.lease;

import jnvdocker.use.ImageNames;

import java.util.Optional;
import java.util.Set;

/**
 * Who may observe the GPUs of this host without holding them.
 *
 * <p>An <em>observer</em> is a container that requests all GPUs with the capability {@code utility}
 * alone: it gets the nodes of all GPUs and not those of CUDA, runs beside the holders, and has no
 * lease. An administrator allows it by the image or by the user, with {@code observers} in the
 * configuration, since its nodes would let it disturb a holder; another container with that request
 * holds all GPUs as before. It is recorded in the file that our OCI runtime keeps of each container
 * that it has edited ({@code EditedContainers}), so a restart of the daemon changes nothing. It
 * ends with its container: the file is removed when the engine has removed its directory, and
 * nothing is kept or counted. It is watched by every scan for unmanaged use: an open node of an
 * observer is no use, but one of its processes that has memory of a GPU, by NVML's word, is.
 *
 * @param images of which any user may start observers
 * @param users who may start an observer of any image, by name or number
 */
public record ObserverPolicy(ImageNames images, Set<String> users) {
    /** Begins a word of the configuration that names a user. */
    public static final String USER = "user:";

    /** What helps where a container may observe, and requests more than that. */
    public static final String REMEDY_IF_ALLOWED =
            "if it only observes the GPUs, have it request the capability utility alone"
                    + " (NVIDIA_DRIVER_CAPABILITIES=utility)";

    /** Lets nobody observe. */
    public static final ObserverPolicy NONE =
            new ObserverPolicy(new ImageNames(Set.of()), Set.of());

    public ObserverPolicy {
        users = Set.copyOf(users);
    }

    /**
     * What the user of a container can do that is refused all GPUs since it has to hold them.
     *
     * @param image of a container of Docker's; of another engine's neither image nor user is known
     */
    public static String remedy(Optional<String> image) {
        return image.isPresent()
                ? "if it only observes the GPUs, have an administrator add its image to observers,"
                        + " below [runtime] in the configuration"
                : "if it only observes the GPUs, run it on the host, or in Docker: containers of"
                        + " other engines hold the GPUs that they request";
    }

    /**
     * Whether an administrator has named the image: all GPUs are then requested to observe them,
     * whatever the image does with the driver elsewhere.
     *
     * @param image empty when it is not known
     */
    public boolean names(Optional<String> image) {
        return image.filter(images::has).isPresent();
    }

    /**
     * @param image empty when it is not known
     */
    public boolean allows(Optional<String> image, Owner owner) {
        return names(image)
                || users.stream()
                        .map(name -> new Subject(Subject.Kind.USER, name))
                        .anyMatch(user -> user.fits(owner, Set.of()));
    }
}
