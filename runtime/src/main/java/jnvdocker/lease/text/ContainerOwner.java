package jnvdocker.lease.text;

import jnvdocker.lease.Owner;
import jnvdocker.posix.FolderOwners;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * Guesses the owner of a container that only an engine has reported, by its labels, which its maker
 * can set freely. So a guess neither grants nor removes any right.
 */
public final class ContainerOwner {
    private static final String OWNER = "jnvdocker.owner";
    private static final Pattern NAME = Pattern.compile("[A-Za-z0-9_][A-Za-z0-9_.@-]{0,31}");

    /**
     * Labels in which compose and the devcontainer tools name the directory that they were called
     * in.
     */
    private static final List<String> FOLDERS =
            List.of("com.docker.compose.project.working_dir", "devcontainer.local_folder");

    /** The labels that are read. */
    static final List<String> LABELS = List.of(OWNER, FOLDERS.getFirst(), FOLDERS.getLast());

    private final FolderOwners folders = FolderOwners.ofThisHost();

    /**
     * @param labels the labels that the container's user has set
     * @return {@link Owner#UNKNOWN} if they name nobody; else an owner without a number
     */
    public Owner guess(Map<String, String> labels) {
        return Optional.ofNullable(labels.get(OWNER))
                .filter(name -> NAME.matcher(name).matches())
                .or(() -> ofFolder(labels))
                .map(name -> Owner.guessed(name))
                .orElse(Owner.UNKNOWN);
    }

    private Optional<String> ofFolder(Map<String, String> labels) {
        return FOLDERS.stream()
                .flatMap(label -> Stream.ofNullable(labels.get(label)))
                .findFirst()
                .flatMap(folders::of)
                .map(uid -> Owners.of(uid).name());
    }
}
