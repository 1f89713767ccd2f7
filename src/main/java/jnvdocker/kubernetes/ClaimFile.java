package jnvdocker.kubernetes;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;

import jnvdocker.posix.RegularFile;

import java.io.IOException;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * The file in which a kubelet keeps the resource claims that are prepared, and the pods that it has
 * let use each: {@code dra_manager_state}, as kubelets write it from Kubernetes 1.32 on. A kubelet
 * calls no driver for a pod that joins a claim, and gives a claim back for one pod while it lists
 * another, so that this file alone names all pods of a claim.
 */
final class ClaimFile {
    private static final String FILE = "dra_manager_state";
    private static final int LIMIT = 4 << 20;
    private static final int DEEPEST = 32;

    /** The limit of pods of a node, several times over. */
    private static final int MOST_PODS = 2048;

    private static final ObjectMapper JSON =
            new ObjectMapper(
                    JsonFactory.builder()
                            .streamReadConstraints(
                                    StreamReadConstraints.builder()
                                            .maxDocumentLength(LIMIT)
                                            .maxStringLength(LIMIT)
                                            .maxNestingDepth(DEEPEST)
                                            .build())
                            .build());

    private final Path file;

    ClaimFile(Path kubeletDirectory) {
        file = kubeletDirectory.resolve(FILE);
    }

    /**
     * Reads the claims, by their uids; empty when the kubelet has prepared no claim yet.
     *
     * @throws MalformedCheckpointException when the file cannot be understood
     * @throws IOException when the file cannot be read, or is not the kubelet's
     */
    Map<String, PreparedClaim> read() throws IOException {
        KubeletDirectory.check(file.getParent());
        Optional<byte[]> content = RegularFile.readOwn(file, LIMIT);
        if (content.isEmpty()) {
            return Map.of();
        }
        try {
            JsonNode data = JSON.readTree(content.get()).path("Data");
            if (!data.isTextual()) {
                throw malformed("has no data of a kubelet");
            }
            return claims(JSON.readTree(data.textValue()));
        } catch (JsonProcessingException e) {
            throw malformed("is not the JSON of a kubelet");
        }
    }

    private Map<String, PreparedClaim> claims(JsonNode data) throws IOException {
        Map<String, PreparedClaim> claims = new HashMap<>();
        int count = 0;
        if (!data.has("ClaimInfoStateList")) {
            throw malformed("has no list of claims");
        }
        for (JsonNode claim : data.path("ClaimInfoStateList")) {
            Set<String> pods = new HashSet<>();
            for (Map.Entry<String, JsonNode> pod : claim.path("PodUIDs").properties()) {
                if (!Checkpoint.isUid(pod.getKey()) || ++count > MOST_PODS) {
                    throw malformed("names more pods than a node has, or one without a uid");
                }
                pods.add(pod.getKey());
            }
            claims.put(
                    claim.path("ClaimUID").asText(),
                    new PreparedClaim(
                            claim.path("Namespace").asText(),
                            claim.path("ClaimName").asText(),
                            pods));
        }
        return Map.copyOf(claims);
    }

    private MalformedCheckpointException malformed(String what) {
        return new MalformedCheckpointException(file + " " + what);
    }
}
