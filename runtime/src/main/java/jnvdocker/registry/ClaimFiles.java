package jnvdocker.registry;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

import jnvdocker.lease.Claim;
import jnvdocker.lease.ClaimKey;
import jnvdocker.lease.ClaimedGpu;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Origin;
import jnvdocker.lease.Owner;
import jnvdocker.posix.FileErrors;
import jnvdocker.posix.Posix;
import jnvdocker.posix.RegularFile;
import jnvdocker.volume.DirectoryTree;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * The directory that each claim has:
 *
 * <pre>
 * claims/&lt;id&gt;/claim.json         the claim, for the day when the registry is lost
 * claims/&lt;id&gt;/mount/lease.json   what its container sees at /run/jnvdocker
 * </pre>
 *
 * The first is beside the mounted directory, not in it: a container that was given the volume
 * writable could write anything there.
 */
public final class ClaimFiles {
    public static final String DIRECTORY = "claims";
    public static final String MOUNTED = "mount";
    private static final String NOTHING = "nothing";

    private static final Logger LOG = LoggerFactory.getLogger(ClaimFiles.class);
    private static final String CLAIM = "claim.json";
    public static final String LEASE = "lease.json";
    private static final int LIMIT = 1 << 16;

    /**
     * The mode of directories: parts of them are mounted for users without the right to list them.
     */
    private static final int ENTERED = 0711;

    private static final int EMPTY = 0555;
    private static final int OURS = 0600;
    private static final int ANYBODYS = 0644;

    private final Path directory;
    private final ObjectMapper json = new ObjectMapper();

    /**
     * @param state the state directory
     */
    public ClaimFiles(Path state) {
        this.directory = state.resolve(DIRECTORY);
    }

    /** Returns the state directory, by its real path. */
    public Path state() throws IOException {
        return directory.getParent().toRealPath();
    }

    /** All that a claim has on disk. */
    public Path directory(String claim) {
        return directory.resolve(claim);
    }

    /** The directory of a claim's volume. */
    public Path mounted(String claim) {
        return directory.resolve(claim).resolve(MOUNTED);
    }

    /** An empty directory for containers that mount a claim and have no part in it. */
    public Path nothing() throws IOException {
        Path nothing = Files.createDirectories(directory.resolveSibling(NOTHING));
        Posix.chmod(nothing, EMPTY);
        return nothing;
    }

    public void write(Claim claim) throws IOException {
        Files.createDirectories(directory);
        Posix.chmod(directory, ENTERED);
        Files.createDirectories(
                claim.origin().isMounted() ? mounted(claim.id()) : directory(claim.id()));
        Posix.chmod(directory(claim.id()), ENTERED);
        replace(claim.id(), directory.resolve(claim.id()).resolve(CLAIM), text(claim), OURS);
    }

    /** The text of {@code claim.json}. */
    public byte[] text(Claim claim) throws IOException {
        ObjectNode root = json.createObjectNode();
        root.put("claim", claim.id());
        root.put("secret", claim.key().secret());
        StoredOrigin origin = StoredOrigin.of(claim.origin());
        root.put("origin", origin.kind().word());
        origin.engine().ifPresent(engine -> root.put("engine", engine));
        root.put("uid", claim.owner().uid());
        root.put("owner", claim.owner().name());
        origin.image().ifPresent(image -> root.put("image", image));
        root.put("created", claim.created().toEpochMilli());
        root.put("party", claim.party());
        claim.container()
                .ifPresent(container -> {
                    root.put("container", container.id());
                    root.put("name", container.name());
                });
        ArrayNode gpus = root.putArray("gpus");
        for (ClaimedGpu gpu : claim.gpus()) {
            ObjectNode entry = gpus.addObject();
            entry.put("uuid", gpu.uuid()).put("index", gpu.index()).put("minor", gpu.minor());
            gpu.partWord().ifPresent(part -> entry.put("part", part));
        }
        return bytes(root);
    }

    private byte[] bytes(ObjectNode root) throws IOException {
        return json.writerWithDefaultPrettyPrinter().writeValueAsBytes(root);
    }

    /** Writes, for the container, which GPUs it has, and since when. */
    public void write(Lease lease) throws IOException {
        Claim claim = lease.claim();
        if (!Files.isDirectory(mounted(claim.id()))) {
            write(claim);
        }
        ObjectNode root = json.createObjectNode();
        root.put("claim", claim.id());
        root.put("lease", lease.id());
        root.put("since", lease.since().toString());
        ArrayNode gpus = root.putArray("gpus");
        for (ClaimedGpu gpu : claim.gpus()) {
            gpus.addObject()
                    .put("index", gpu.index())
                    .put("uuid", gpu.uuid())
                    .put("node", gpu.node())
                    .put("share", gpu.share().map(share -> share.amount().bytes()).orElse(null));
        }
        replace(claim.id(), mounted(claim.id()).resolve(LEASE), bytes(root), ANYBODYS);
    }

    /** Whether a container that mounts the claim sees a lease, be it an earlier one. */
    public boolean hasLease(String claim) {
        return Files.isRegularFile(mounted(claim).resolve(LEASE), LinkOption.NOFOLLOW_LINKS);
    }

    /** A claim as its file has it; empty when there is none, or one that cannot be read. */
    public Optional<Claim> read(String id) {
        Path file = directory(id).resolve(CLAIM);
        try {
            Optional<byte[]> bytes = RegularFile.readOwn(file, LIMIT);
            return bytes.isPresent() ? Optional.of(parse(id, bytes.get())) : Optional.empty();
        } catch (IOException e) {
            LOG.warn("{} is not used: {}", file, e.getMessage());
            return Optional.empty();
        }
    }

    /** Names of the directories in order, whatever is in them. */
    public List<String> ids() throws IOException {
        try (var entries = Files.list(directory)) {
            return entries.map(entry -> entry.getFileName().toString())
                    .filter(Claim::isId)
                    .sorted()
                    .toList();
        } catch (NoSuchFileException e) {
            return List.of();
        }
    }

    /** Removes a claim's directory with all that a container may have left in it. */
    public void delete(String claim) throws IOException {
        DirectoryTree.delete(directory.resolve(claim));
    }

    /**
     * Reads the text of {@code claim.json}.
     *
     * @throws IOException when it is the text of no claim
     */
    public Claim parse(String id, byte[] text) throws IOException {
        JsonNode root = json.readTree(text);
        List<ClaimedGpu> gpus = new ArrayList<>();
        for (JsonNode gpu : root.path("gpus")) {
            gpus.add(
                    ClaimedGpu.read(
                            gpu.path("uuid").asText(),
                            gpu.path("index").asInt(),
                            gpu.path("minor").asInt(),
                            text(gpu, "part")));
        }
        if (gpus.isEmpty()) {
            throw new IOException("it names no GPU");
        }
        return new Claim(
                new ClaimKey(id, root.path("secret").asText()),
                origin(root),
                new Owner(root.path("uid").asInt(), root.path("owner").asText("?")),
                gpus,
                Instant.ofEpochMilli(root.path("created").asLong()),
                text(root, "container")
                        .map(container ->
                                new Claim.ContainerRef(container, root.path("name").asText("?"))),
                text(root, "party").filter(Claim::isId).orElse(id));
    }

    private static Origin origin(JsonNode root) throws IOException {
        Optional<String> engine = text(root, "engine");
        Optional<String> image = text(root, "image");
        return text(root, "origin")
                .flatMap(Origin.Kind::of)
                .flatMap(kind -> new StoredOrigin(kind, engine, image).origin())
                .orElseThrow(() -> new IOException("it has no origin that is known"));
    }

    private static Optional<String> text(JsonNode root, String key) {
        return Optional.ofNullable(root.path(key).asText(null));
    }

    /**
     * Written beside the mounted directory, and moved there: a container that was given the volume
     * writable could have put a link in the way.
     */
    private void replace(String claim, Path file, byte[] content, int mode) throws IOException {
        Path fresh = directory.resolve(claim).resolve(file.getFileName() + ".new");
        try {
            // Whatever has the name: a pipe would block the daemon.
            Files.deleteIfExists(fresh);
            Files.write(fresh, content, StandardOpenOption.CREATE_NEW);
            Posix.chmod(fresh, mode);
            Files.move(
                    fresh,
                    file,
                    StandardCopyOption.REPLACE_EXISTING,
                    StandardCopyOption.ATOMIC_MOVE);
        } catch (IOException e) {
            deleteIfPossible(fresh);
            throw FileErrors.of(file, e);
        }
    }

    /** A part of a file is of no use on a disk that is full. */
    private static void deleteIfPossible(Path part) {
        try {
            Files.deleteIfExists(part);
        } catch (IOException e) {
            LOG.debug("{} is left: {}", part, e.getMessage());
        }
    }
}
