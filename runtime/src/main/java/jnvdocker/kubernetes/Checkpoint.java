package jnvdocker.kubernetes;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.google.protobuf.ByteString;

import jnvdocker.wire.WireMessage;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;

/**
 * What a kubelet keeps on disk of the devices that it has given to containers. It knows the uids of
 * pods and their init containers, which the kubelet tells nobody; and it may still name pods that
 * have ended.
 *
 * @param registered all ids that plugins have listed, by resource
 */
record Checkpoint(List<Entry> entries, Map<String, Set<String>> registered) {
    static final Checkpoint NONE = new Checkpoint(List.of(), Map.of());

    private static final String FILE = "device-plugins/kubelet_internal_checkpoint";
    private static final int LIMIT = 16 << 20;

    /** Fields of a plugin's answer ({@code ContainerAllocateResponse}), and of a device in it. */
    private static final int DEVICES = 3;

    private static final int HOST_PATH = 2;

    /** A uid becomes part of the path of a cgroup. */
    private static final Pattern UID = Pattern.compile("[0-9a-f][0-9a-f-]{7,63}");

    private static final JsonMapper JSON = JsonMapper.builder().build();

    Checkpoint {
        entries = List.copyOf(entries);
        registered = Map.copyOf(registered);
    }

    /**
     * The devices of one container.
     *
     * @param nodes the paths on the host of the nodes that it gets with them, at each start
     */
    record Entry(
            String podUid, String container, String resource, Set<String> ids, List<String> nodes) {
        Entry {
            ids = Set.copyOf(ids);
            nodes = List.copyOf(nodes);
        }
    }

    /**
     * Reads a kubelet's; there is nothing in it before the kubelet's first device.
     *
     * @throws IOException when it cannot be read or understood
     */
    static Checkpoint read(Path kubeletFolder) throws IOException {
        Path file = kubeletFolder.resolve(FILE);
        byte[] bytes;
        try (InputStream in = Files.newInputStream(file)) {
            bytes = in.readNBytes(LIMIT + 1);
        } catch (NoSuchFileException e) {
            return NONE;
        }
        if (bytes.length > LIMIT) {
            throw new IOException(file + " is longer than " + LIMIT + " bytes");
        }
        try {
            return parse(JSON.readTree(bytes));
        } catch (JsonProcessingException e) {
            throw new IOException(file + " is not JSON: " + e.getOriginalMessage(), e);
        }
    }

    private static Checkpoint parse(JsonNode file) {
        JsonNode data = file.path("Data");
        List<Entry> entries = new ArrayList<>();
        for (JsonNode entry : data.path("PodDeviceEntries")) {
            String uid = entry.path("PodUID").asText();
            if (UID.matcher(uid).matches()) {
                entries.add(
                        new Entry(
                                uid,
                                entry.path("ContainerName").asText(),
                                entry.path("ResourceName").asText(),
                                texts(entry.path("DeviceIDs")),
                                nodes(entry.path("AllocResp").asText())));
            }
        }
        Map<String, Set<String>> registered = new HashMap<>();
        data.path("RegisteredDevices")
                .forEachEntry((resource, ids) -> registered.put(resource, texts(ids)));
        return new Checkpoint(entries, registered);
    }

    /** Of a list, as older kubelets write it, or of the lists of several NUMA nodes. */
    private static Set<String> texts(JsonNode ids) {
        Set<String> texts = new LinkedHashSet<>();
        for (JsonNode id : ids) {
            if (id.isTextual()) {
                texts.add(id.asText());
            } else {
                id.forEach(its -> texts.add(its.asText()));
            }
        }
        return texts;
    }

    /** What a plugin has answered once; where it makes no sense, nothing is known of the nodes. */
    private static List<String> nodes(String answer) {
        try {
            ByteString bytes = ByteString.copyFrom(Base64.getDecoder().decode(answer));
            List<String> nodes = new ArrayList<>();
            for (WireMessage device : WireMessage.parse(bytes).messages(DEVICES)) {
                device.text(HOST_PATH).ifPresent(nodes::add);
            }
            return nodes;
        } catch (IllegalArgumentException | IOException e) {
            return List.of();
        }
    }
}
