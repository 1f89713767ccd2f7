package jnvdocker.kubernetes;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.core.exc.StreamConstraintsException;
import com.google.protobuf.ByteString;

import jnvdocker.posix.Posix;
import jnvdocker.request.GpuResolver;
import jnvdocker.wire.WireMessage;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * The file in which a kubelet keeps the devices of containers. Read piece by piece, and only what
 * concerns GPUs is kept: a plugin for something else may have a hundred thousand devices.
 */
public final class CheckpointFile {
    private static final String FILE = "device-plugins/kubelet_internal_checkpoint";
    private static final int LIMIT = 16 << 20;

    /** The limit of containers with GPUs, including those of pods that have ended. */
    static final int MOST_CONTAINERS = 2048;

    /** The limit of GPUs of a host, or a container. */
    private static final int MOST_GPUS = 1024;

    /** A plugin's answer for a container, which is some kilobytes as a rule. */
    private static final int LONGEST_TEXT = 1 << 21;

    private static final int DEEPEST = 32;

    private static final int FILE_TYPE = 0170000;
    private static final int REGULAR = 0100000;

    /** Fields of a plugin's answer ({@code ContainerAllocateResponse}), and of a device in it. */
    private static final int DEVICES = 3;

    private static final int HOST_PATH = 2;

    private static final JsonFactory JSON =
            JsonFactory.builder()
                    .streamReadConstraints(
                            StreamReadConstraints.builder()
                                    .maxDocumentLength(LIMIT)
                                    .maxNestingDepth(DEEPEST)
                                    .maxStringLength(LONGEST_TEXT)
                                    .build())
                    .build();

    private final Path path;

    CheckpointFile(Path kubeletDirectory) {
        path = kubeletDirectory.resolve(FILE);
    }

    /**
     * Whether a kubelet has written its file, which it does with its first device.
     *
     * @throws MalformedCheckpointException when it cannot be understood
     * @throws IOException when it cannot be read, or is not the kubelet's
     */
    public static boolean isReadable(Path kubeletDirectory) throws IOException {
        return new CheckpointFile(kubeletDirectory).read().isPresent();
    }

    /** Reads the file; empty when there is none. */
    Optional<Checkpoint> read() throws IOException {
        if (!isThere()) {
            return Optional.empty();
        }
        try (InputStream in = Files.newInputStream(path, LinkOption.NOFOLLOW_LINKS);
                JsonParser json = JSON.createParser(in)) {
            return Optional.of(parse(json));
        } catch (NoSuchFileException e) {
            return Optional.empty();
        } catch (StreamConstraintsException e) {
            throw malformed("has longer or deeper parts than a kubelet writes");
        } catch (JsonProcessingException e) {
            throw malformed("is not JSON");
        }
    }

    /** A pipe or a device would block the thread that opens it. */
    private boolean isThere() throws IOException {
        KubeletDirectory.check(path.getParent());
        Map<String, Object> status;
        try {
            status = Files.readAttributes(path, "unix:mode,uid,size", LinkOption.NOFOLLOW_LINKS);
        } catch (NoSuchFileException e) {
            return false;
        }
        if (((int) status.get("mode") & FILE_TYPE) != REGULAR) {
            throw malformed("is not a regular file");
        }
        if (!Posix.isRootOrSelf((int) status.get("uid"))) {
            throw new IOException(path + " is not root's");
        }
        if ((long) status.get("size") > LIMIT) {
            throw malformed("is longer than " + LIMIT + " bytes");
        }
        return true;
    }

    private MalformedCheckpointException malformed(String what) {
        return new MalformedCheckpointException(path + " " + what);
    }

    private Checkpoint parse(JsonParser json) throws IOException {
        List<Checkpoint.Entry> entries = new ArrayList<>();
        Map<String, Set<String>> registered = new HashMap<>();
        if (json.nextToken() == null) {
            throw malformed("is empty");
        }
        each(
                json,
                file -> {
                    if (!file.equals("Data")) {
                        json.skipChildren();
                        return;
                    }
                    each(
                            json,
                            key -> {
                                switch (key) {
                                    case "PodDeviceEntries" ->
                                            elements(json, () -> addEntry(json, entries));
                                    case "RegisteredDevices" ->
                                            each(
                                                    json,
                                                    resource ->
                                                            registered.put(resource, ids(json)));
                                    default -> json.skipChildren();
                                }
                            });
                });
        if (json.nextToken() != null) {
            throw malformed("has more after its end");
        }
        registered.values().removeIf(Set::isEmpty);
        return new Checkpoint(entries, registered);
    }

    /** Uses the value of a key, at which the parser is. */
    @FunctionalInterface
    private interface Value {
        void use(String key) throws IOException;
    }

    /** Uses an element of a list, at which the parser is. */
    @FunctionalInterface
    private interface Element {
        void use() throws IOException;
    }

    private static void each(JsonParser json, Value value) throws IOException {
        if (!json.isExpectedStartObjectToken()) {
            json.skipChildren();
            return;
        }
        while (json.nextToken() == JsonToken.FIELD_NAME) {
            String key = json.currentName();
            json.nextToken();
            value.use(key);
        }
    }

    private static void elements(JsonParser json, Element element) throws IOException {
        if (!json.isExpectedStartArrayToken()) {
            json.skipChildren();
            return;
        }
        while (json.nextToken() != JsonToken.END_ARRAY) {
            element.use();
        }
    }

    private void addEntry(JsonParser json, List<Checkpoint.Entry> entries) throws IOException {
        Map<String, String> texts = new HashMap<>();
        Set<String> ids = new LinkedHashSet<>();
        each(
                json,
                key -> {
                    switch (key) {
                        case "PodUID", "ContainerName", "ResourceName", "AllocResp" ->
                                texts.put(key, text(json));
                        case "DeviceIDs" -> ids.addAll(ids(json));
                        default -> json.skipChildren();
                    }
                });
        String uid = texts.getOrDefault("PodUID", "");
        // More devices than a host has GPUs are another plugin's: some count the memory of GPUs.
        if (ids.isEmpty() || ids.size() > MOST_GPUS || !Checkpoint.isUid(uid)) {
            return;
        }
        if (entries.size() == MOST_CONTAINERS) {
            throw malformed("has more than " + MOST_CONTAINERS + " containers with GPUs");
        }
        entries.add(
                new Checkpoint.Entry(
                        uid,
                        texts.getOrDefault("ContainerName", ""),
                        texts.getOrDefault("ResourceName", ""),
                        ids,
                        nodes(texts.getOrDefault("AllocResp", ""))));
    }

    private static String text(JsonParser json) throws IOException {
        if (json.currentToken().isStructStart()) {
            json.skipChildren();
            return "";
        }
        return Optional.ofNullable(json.getValueAsString()).orElse("");
    }

    /** Some GPUs of a list, as older kubelets write it, or of the lists of several NUMA nodes. */
    private static Set<String> ids(JsonParser json) throws IOException {
        Set<String> ids = new LinkedHashSet<>();
        Element one =
                () -> {
                    String id = text(json);
                    if (GpuResolver.isUuid(id) && ids.size() <= MOST_GPUS) {
                        ids.add(id);
                    }
                };
        if (json.isExpectedStartArrayToken()) {
            elements(json, one);
        } else {
            each(json, _ -> elements(json, one));
        }
        return ids;
    }

    /** Reads a plugin's stored answer; if it is malformed, the nodes are unknown. */
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
