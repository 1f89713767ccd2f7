package jnvdocker.mesos.launch;

import jnvdocker.posix.FileErrors;
import jnvdocker.words.FailedException;
import jnvdocker.words.Quote;
import jnvdocker.words.RefusedException;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;

/**
 * The agent's directory of a container, {@code <runtime_dir>/containers/<id>}, and of one that is
 * nested in it, {@code …/containers/<id>} below that.
 *
 * @param ids from that of the outermost container to that of this one
 */
public record RuntimeDirectory(Path path, List<String> ids) {
    private static final String CONTAINERS = "containers";
    private static final int LONGEST = 4096;
    private static final int DEEPEST = 16;
    private static final int MAX_CONFIG = 4 << 20;

    /** Mesos's ids contain no dots, so a dot can separate them. */
    private static final Pattern ID = Pattern.compile("[A-Za-z0-9_-]{1,255}");

    public RuntimeDirectory {
        ids = List.copyOf(ids);
    }

    /**
     * @throws RefusedException when it is not such a path
     */
    public static RuntimeDirectory of(String text) throws RefusedException {
        if (!text.startsWith("/") || text.length() > LONGEST || text.indexOf('\0') >= 0) {
            throw notOne(text);
        }
        Path path = Path.of(text);
        List<String> ids = new ArrayList<>();
        Path at = path;
        while (at.getNameCount() > 2
                && at.getParent().endsWith(CONTAINERS)
                && ID.matcher(at.getFileName().toString()).matches()) {
            ids.addFirst(at.getFileName().toString());
            at = at.getParent().getParent();
        }
        if (ids.isEmpty() || ids.size() > DEEPEST || !path.equals(path.normalize())) {
            throw notOne(text);
        }
        return new RuntimeDirectory(path, ids);
    }

    private static RefusedException notOne(String text) {
        return new RefusedException(
                Quote.quoted(text) + " is not the directory of a Mesos agent's container",
                "let only the agent start mesos-containerizer");
    }

    /** {@code ID}, or {@code ID.NESTED}. */
    public String id() {
        return String.join(".", ids);
    }

    public boolean isNested() {
        return ids.size() > 1;
    }

    /** The directory of the container that this one is nested in. */
    public Optional<RuntimeDirectory> parent() {
        return isNested()
                ? Optional.of(
                        new RuntimeDirectory(
                                path.getParent().getParent(), ids.subList(0, ids.size() - 1)))
                : Optional.empty();
    }

    /**
     * @throws IOException when it is not there, longer than 4 MiB, or malformed
     */
    public ContainerConfig config() throws IOException {
        Path file = path.resolve("config");
        try (InputStream in = Files.newInputStream(file)) {
            byte[] bytes = in.readNBytes(MAX_CONFIG + 1);
            if (bytes.length > MAX_CONFIG) {
                throw new IOException("it has more than " + MAX_CONFIG + " bytes");
            }
            return ContainerConfig.parse(bytes);
        } catch (NoSuchFileException e) {
            throw new FailedException(
                    file + " does not exist",
                    "install Mesos 1.5 or newer, whose agent writes it",
                    e);
        } catch (IOException e) {
            throw new FailedException(
                    "cannot read the configuration of the container: %s: %s"
                            .formatted(file, FileErrors.reason(e)),
                    "see the agent's log",
                    e);
        }
    }

    /**
     * The process with which the agent has started the container; empty until the agent has stored
     * it.
     */
    public Optional<Integer> pid() throws IOException {
        try {
            String text = Files.readString(path.resolve("pid")).strip();
            return Optional.of(Integer.parseInt(text));
        } catch (NoSuchFileException | NumberFormatException e) {
            return Optional.empty();
        }
    }
}
