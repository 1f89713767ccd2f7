package jnvdocker.lease;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

import jnvdocker.posix.Posix;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;

/**
 * The folder that each claim has:
 *
 * <pre>
 * claims/&lt;id&gt;/claim.json         the claim, for the day when the registry is lost
 * claims/&lt;id&gt;/mount/lease.json   what its container sees at /run/jnvdocker
 * </pre>
 *
 * The first is beside what is mounted, not in it: a container that was given the volume writable
 * could tell us anything there.
 */
final class ClaimFiles {
    static final String FOLDER = "claims";
    static final String MOUNTED = "mount";

    private static final Logger LOG = LoggerFactory.getLogger(ClaimFiles.class);
    private static final String CLAIM = "claim.json";
    private static final String LEASE = "lease.json";
    private static final int LIMIT = 1 << 16;

    private final Path folder;
    private final ObjectMapper json = new ObjectMapper();

    /**
     * @param state the state folder
     */
    ClaimFiles(Path state) {
        this.folder = state.resolve(FOLDER);
    }

    /** The state folder. */
    Path state() {
        return folder.getParent();
    }

    /** All that a claim has on disk. */
    Path folder(String claim) {
        return folder.resolve(claim);
    }

    /** Where a claim's volume is. */
    Path mounted(String claim) {
        return folder.resolve(claim).resolve(MOUNTED);
    }

    void write(Claim claim) throws IOException {
        Files.createDirectories(folder);
        Posix.chmod(folder, 0711);
        Files.createDirectories(mounted(claim.id()));
        ObjectNode root = json.createObjectNode();
        root.put("claim", claim.id());
        root.put("engine", claim.engine());
        root.put("uid", claim.owner().uid());
        root.put("owner", claim.owner().name());
        root.put("image", claim.image());
        root.put("created", claim.created().toEpochMilli());
        ArrayNode gpus = root.putArray("gpus");
        for (ClaimedGpu gpu : claim.gpus()) {
            gpus.addObject()
                    .put("uuid", gpu.uuid())
                    .put("index", gpu.index())
                    .put("minor", gpu.minor());
        }
        replace(claim.id(), folder.resolve(claim.id()).resolve(CLAIM), root);
    }

    /** Tells the container which GPUs it has, and since when. */
    void write(Lease lease) throws IOException {
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
                    .put("node", gpu.node());
        }
        replace(claim.id(), mounted(claim.id()).resolve(LEASE), root);
    }

    /** Every claim that has a folder with a claim in it. */
    List<Claim> read() throws IOException {
        List<Claim> claims = new ArrayList<>();
        try (DirectoryStream<Path> entries = Files.newDirectoryStream(folder)) {
            for (Path entry : entries) {
                String id = entry.getFileName().toString();
                if (Claim.isId(id)) {
                    read(id, entry.resolve(CLAIM)).ifPresent(claims::add);
                }
            }
        } catch (NoSuchFileException e) {
            return List.of();
        }
        return claims;
    }

    /** Names of the folders, whatever is in them. */
    List<String> ids() throws IOException {
        try (var entries = Files.list(folder)) {
            return entries.map(entry -> entry.getFileName().toString())
                    .filter(Claim::isId)
                    .toList();
        } catch (NoSuchFileException e) {
            return List.of();
        }
    }

    /** Removes a claim's folder with all that a container may have left in it. */
    void delete(String claim) throws IOException {
        Path own = folder.resolve(claim);
        if (!Files.exists(own)) {
            return;
        }
        List<Path> all;
        try (var walk = Files.walk(own)) {
            // What is in a folder comes after it.
            all = walk.sorted(Comparator.reverseOrder()).toList();
        }
        for (Path path : all) {
            Files.deleteIfExists(path);
        }
    }

    private Optional<Claim> read(String id, Path file) {
        try {
            if (Files.size(file) > LIMIT) {
                throw new IOException("it is longer than " + LIMIT + " bytes");
            }
            JsonNode root = json.readTree(Files.readAllBytes(file));
            List<ClaimedGpu> gpus = new ArrayList<>();
            for (JsonNode gpu : root.path("gpus")) {
                gpus.add(
                        new ClaimedGpu(
                                gpu.path("uuid").asText(),
                                gpu.path("index").asInt(),
                                gpu.path("minor").asInt()));
            }
            if (gpus.isEmpty()) {
                throw new IOException("it names no GPU");
            }
            return Optional.of(
                    new Claim(
                            id,
                            root.path("engine").asText(),
                            new Owner(root.path("uid").asInt(), root.path("owner").asText("?")),
                            gpus,
                            root.path("image").asText("?"),
                            Instant.ofEpochMilli(root.path("created").asLong()),
                            Optional.empty()));
        } catch (IOException e) {
            LOG.warn("{} is not used: {}", file, e.getMessage());
            return Optional.empty();
        }
    }

    /**
     * Written beside what is mounted, and moved there: a container that was given the volume
     * writable could have put a link in the way.
     */
    private void replace(String claim, Path file, ObjectNode content) throws IOException {
        Path fresh = folder.resolve(claim).resolve(file.getFileName() + ".new");
        Files.write(fresh, json.writerWithDefaultPrettyPrinter().writeValueAsBytes(content));
        Files.move(
                fresh, file, StandardCopyOption.REPLACE_EXISTING, StandardCopyOption.ATOMIC_MOVE);
    }
}
