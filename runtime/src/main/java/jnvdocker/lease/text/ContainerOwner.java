package jnvdocker.lease.text;

import jnvdocker.lease.Owner;
import jnvdocker.posix.DirectoryOwners;

import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * Finds out the owner of a container that only an engine has reported, by its labels, which its
 * maker can set freely. So it is a guess, which neither grants nor removes any right, unless the
 * configuration trusts such evidence.
 */
public final class ContainerOwner {
    /** The label that names the owner: {@code alice}, or {@code uid:1001}. */
    public static final String LABEL = "jnvdocker.owner";

    private static final String UID = "uid:";
    private static final Pattern NUMBER = Pattern.compile(UID + "[0-9]{1,10}");

    /** The kernel's next number stands for no user. */
    private static final long MAX_UID = 0xfffffffeL;

    private static final Pattern NAME = Pattern.compile("[A-Za-z0-9_][A-Za-z0-9_.@-]{0,31}");

    /**
     * Labels in which compose and the devcontainer tools name the directory that they were called
     * in.
     */
    private static final List<String> DIRECTORIES =
            List.of("com.docker.compose.project.working_dir", "devcontainer.local_folder");

    /** The labels that are read. */
    static final List<String> LABELS =
            List.of(LABEL, DIRECTORIES.getFirst(), DIRECTORIES.getLast());

    /** An engine waits meanwhile, and holds the lock of the container that is to start. */
    private static final Duration PATIENCE = Duration.ofSeconds(2);

    private final DirectoryOwners directories = DirectoryOwners.ofThisHost();
    private final Supplier<Set<Trust>> trusted;
    private final Function<String, Owner> users;

    /** The kinds of evidence. */
    public enum Trust {
        /** The label that names the owner. */
        LABEL,
        /** The owner of the directory that compose or a devcontainer was started in. */
        DIRECTORY;

        /** As the configuration spells it. */
        public String word() {
            return name().toLowerCase(Locale.ROOT);
        }
    }

    /**
     * @param trusted the evidence that counts, as the configuration says at each moment
     */
    public ContainerOwner(Supplier<Set<Trust>> trusted) {
        this(trusted, name -> Owners.named(name, PATIENCE));
    }

    /**
     * @param users finds the user of a name, which may take a while
     */
    ContainerOwner(Supplier<Set<Trust>> trusted, Function<String, Owner> users) {
        this.trusted = trusted;
        this.users = users;
    }

    /**
     * Returns the owner of a container.
     *
     * @param labels the labels that the container's user has set
     * @return {@link Owner#UNKNOWN} if they name nobody; an owner without a number if they are not
     *     trusted, or name a user whom the host does not know, or does not report in time
     */
    public Owner of(Map<String, String> labels) {
        return Optional.ofNullable(labels.get(LABEL))
                .flatMap(this::labelled)
                .or(() -> ofDirectory(labels).map(owner -> trusted(Trust.DIRECTORY, owner)))
                .orElse(Owner.UNKNOWN);
    }

    /** Whether a container is another user's than a claim. Root starts containers for others. */
    public static boolean isAnothers(Owner container, Owner claim) {
        return !container.isUnknown()
                && container.uid() != 0
                && claim.uid() != 0
                && container.uid() != claim.uid();
    }

    /**
     * Whether a container that was made with the settings of one that was removed is of the same
     * user: that is known, or root makes it.
     */
    public static boolean isSame(Owner container, Owner claim) {
        return !container.isUnknown() && (container.uid() == 0 || container.isSameAs(claim));
    }

    /** Returns the value of the label for a user, for whose name no directory is queried. */
    public static String label(int uid) {
        return UID + Integer.toUnsignedString(uid);
    }

    private Optional<Owner> labelled(String text) {
        if (NUMBER.matcher(text).matches()) {
            return Optional.of(Long.parseLong(text.substring(UID.length())))
                    .filter(uid -> uid <= MAX_UID)
                    .map(uid -> trusted(Trust.LABEL, Owners.of(uid.intValue())));
        }
        return Optional.of(text).filter(NAME.asMatchPredicate()).map(this::named);
    }

    /** A name that is not trusted stays a guess, whoever has it: nothing need be queried. */
    private Owner named(String name) {
        return trusted.get().contains(Trust.LABEL)
                ? trusted(Trust.LABEL, users.apply(name))
                : Owner.guessed(name);
    }

    private Owner trusted(Trust evidence, Owner owner) {
        // A name of no user of this host is a guess, also if the daemon uses that name for itself.
        return owner.uid() == Owner.UNKNOWN.uid() || !trusted.get().contains(evidence)
                ? Owner.guessed(owner.name())
                : owner;
    }

    private Optional<Owner> ofDirectory(Map<String, String> labels) {
        return DIRECTORIES.stream()
                .flatMap(label -> Stream.ofNullable(labels.get(label)))
                .findFirst()
                .flatMap(directories::of)
                .map(Owners::of);
    }
}
