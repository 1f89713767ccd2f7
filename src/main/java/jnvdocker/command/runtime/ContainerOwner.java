package jnvdocker.command.runtime;

import jnvdocker.lease.Owner;
import jnvdocker.lease.text.Owners;
import jnvdocker.posix.FolderOwners;

import java.util.Map;
import java.util.Optional;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * Guesses whose a container is that nobody but an engine has told of: by what its labels say, which
 * whoever made it can have written. So a guess gives nobody any right, nor takes one away.
 */
final class ContainerOwner {
    private static final String OWNER = "jnvdocker.owner";
    private static final Pattern NAME = Pattern.compile("[A-Za-z0-9_][A-Za-z0-9_.@-]{0,31}");

    /** In which compose and the devcontainers' tools name the folder that they were called in. */
    private static final String[] FOLDERS = {
        "com.docker.compose.project.working_dir", "devcontainer.local_folder"
    };

    private final FolderOwners folders = new FolderOwners();

    /**
     * @param labels those that the container's user has set
     */
    Owner guess(Map<String, String> labels) {
        return Optional.ofNullable(labels.get(OWNER))
                .filter(name -> NAME.matcher(name).matches())
                .or(() -> ofFolder(labels))
                .map(name -> Owner.guessed(name))
                .orElse(Owner.UNKNOWN);
    }

    private Optional<String> ofFolder(Map<String, String> labels) {
        return Stream.of(FOLDERS)
                .flatMap(label -> Stream.ofNullable(labels.get(label)))
                .findFirst()
                .flatMap(folders::of)
                .map(uid -> Owners.of(uid).name());
    }
}
