package jnvdocker.oci.lease;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;

import jnvdocker.posix.FileErrors;
import jnvdocker.posix.Posix;
import jnvdocker.posix.RegularFile;
import jnvdocker.use.Observer;
import jnvdocker.use.Observers;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Instant;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Stream;

/**
 * The containers that our OCI runtime has edited, and which variables it has set in each: commands
 * that are run in a container later get the same. Each has a file that is named by its id, by which
 * our runtime knows that the daemon edits such commands, too. The file is kept as long as the
 * engine has a directory for the container, and says of a container that observes the GPUs that it
 * does ({@link jnvdocker.lease.ObserverPolicy}).
 */
public final class EditedContainers implements Observers {
    private static final Logger LOG = LoggerFactory.getLogger(EditedContainers.class);
    private static final String BUNDLE = "bundle";
    private static final String VARIABLES = "variables";
    private static final String OBSERVER = "observer";
    private static final int LIMIT = 1 << 20;
    private static final int OURS = 0700;

    private final Path directory;
    private final ObjectMapper json = new ObjectMapper();
    private final Map<String, Edited> all = new ConcurrentHashMap<>();
    private long edits;

    /**
     * One of them.
     *
     * @param edit a number that no other edit has: the next start of a container has the same
     *     directory
     * @param observer empty for one that holds GPUs, or has none
     */
    private record Edited(Path bundle, long edit, Optional<Observer> observer) {}

    private EditedContainers(Path directory) {
        this.directory = directory;
    }

    /** Reads the containers that a directory has files of; removes foreign files. */
    public static EditedContainers in(Path directory) throws IOException {
        EditedContainers edited = new EditedContainers(directory);
        Files.createDirectories(directory);
        Posix.chmod(directory, OURS);
        List<Path> files;
        try (Stream<Path> entries = Files.list(directory)) {
            files = entries.toList();
        }
        for (Path file : files) {
            String container = file.getFileName().toString();
            Optional<JsonNode> root = edited.read(container);
            Optional<Path> bundle =
                    root.map(it -> it.path(BUNDLE).asText(""))
                            .filter(path -> path.startsWith("/"))
                            .map(Path::of);
            if (bundle.isPresent()) {
                edited.note(container, bundle.get(), observer(container, root.get()));
            } else {
                edited.forget(container);
            }
        }
        return edited;
    }

    /**
     * A variable that was set in a container.
     *
     * @param before its value without us; null when it would not be set
     */
    public record SetVariable(String name, String before, String now) {}

    /**
     * Remembers a container that was edited. If that fails, commands in it only lack the variables.
     *
     * @param bundle the directory that its engine has for it
     * @param observer empty unless it observes the GPUs
     */
    public synchronized void put(
            String container,
            Path bundle,
            List<SetVariable> variables,
            Optional<Observer> observer) {
        ObjectNode root = json.createObjectNode();
        root.put(BUNDLE, bundle.toString());
        root.set(VARIABLES, json.valueToTree(variables));
        observer.ifPresent(its -> {
            ObjectNode node = root.putObject(OBSERVER);
            node.put("name", its.name()).put("owner", its.owner());
            its.image().ifPresent(image -> node.put("image", image));
            node.put("since", its.since().toEpochMilli());
        });
        note(container, bundle, observer);
        try {
            write(container, root);
        } catch (IOException e) {
            LOG.warn(
                    "commands in container {} get no variables of jnvdocker's: {}",
                    container,
                    FileErrors.describe(e));
        }
    }

    private void write(String container, JsonNode root) throws IOException {
        // Whatever has the name: a pipe would block the daemon.
        Path file = directory.resolve(container);
        Files.deleteIfExists(file);
        Files.write(file, json.writeValueAsBytes(root), StandardOpenOption.CREATE_NEW);
    }

    @Override
    public synchronized void renamed(String container, String name) {
        Optional<JsonNode> root =
                observes(container)
                        ? read(container).filter(its -> its.path(OBSERVER) instanceof ObjectNode)
                        : Optional.empty();
        if (root.isEmpty()) {
            return;
        }
        ((ObjectNode) root.get().path(OBSERVER)).put("name", name);
        note(container, all.get(container).bundle(), observer(container, root.get()));
        try {
            write(container, root.get());
        } catch (IOException e) {
            LOG.warn(
                    "after a restart the observer {} has its earlier name: {}",
                    container,
                    FileErrors.describe(e));
        }
    }

    private void note(String container, Path bundle, Optional<Observer> observer) {
        all.put(container, new Edited(bundle, edits++, observer));
    }

    private static Optional<Observer> observer(String container, JsonNode root) {
        JsonNode its = root.path(OBSERVER);
        return its.isObject()
                ? Optional.of(
                        new Observer(
                                container,
                                its.path("name").asText(container),
                                Optional.ofNullable(its.path("image").textValue()),
                                its.path("owner").asText(""),
                                Instant.ofEpochMilli(its.path("since").asLong())))
                : Optional.empty();
    }

    @Override
    public List<Observer> running() {
        return all.values().stream()
                .filter(edited -> edited.observer().isPresent() && Files.exists(edited.bundle()))
                .map(edited -> edited.observer().get())
                .sorted(Comparator.comparing(Observer::since).thenComparing(Observer::id))
                .toList();
    }

    @Override
    public boolean observes(String container) {
        Edited edited = all.get(container);
        return edited != null && edited.observer().isPresent() && Files.exists(edited.bundle());
    }

    /** Whether it is one of them. */
    public boolean has(String container) {
        return all.containsKey(container);
    }

    /** The variables that were set in a container; none when it was not edited. */
    public List<SetVariable> variables(String container) {
        return read(container).map(this::variables).orElse(List.of());
    }

    private List<SetVariable> variables(JsonNode root) {
        try {
            return List.of(json.treeToValue(root.path(VARIABLES), SetVariable[].class));
        } catch (IOException e) {
            LOG.warn("a file in {} is not used: {}", directory, e.getMessage());
            return List.of();
        }
    }

    private Optional<JsonNode> read(String container) {
        Path file = directory.resolve(container);
        try {
            Optional<byte[]> bytes = RegularFile.readOwn(file, LIMIT);
            return bytes.isPresent()
                    ? Optional.ofNullable(json.readTree(bytes.get()))
                    : Optional.empty();
        } catch (IOException e) {
            LOG.warn("{} is not used: {}", file, FileErrors.describe(e));
            return Optional.empty();
        }
    }

    /** A container is not edited, or no more. */
    public synchronized void forget(String container) {
        all.remove(container);
        try {
            Files.deleteIfExists(directory.resolve(container));
        } catch (IOException e) {
            LOG.warn("{}: {}", directory.resolve(container), FileErrors.describe(e));
        }
    }

    /** Removes the files of containers that their engines have deleted. */
    public void tidy() {
        all.forEach((container, edited) -> {
            if (Files.notExists(edited.bundle())) {
                forget(container, edited);
            }
        });
    }

    private synchronized void forget(String container, Edited edited) {
        if (edited.equals(all.get(container))) {
            forget(container);
        }
    }
}
