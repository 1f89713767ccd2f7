package jnvdocker.kubernetes.dra;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.dataformat.yaml.YAMLMapper;

import jnvdocker.posix.RegularFile;
import jnvdocker.words.RefusedException;

import java.io.IOException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Base64;
import java.util.Optional;

/**
 * The current context of a kubeconfig file: an API server, and the credentials for it. Files that
 * it names are read each time, since a kubelet renews its certificate, and others their tokens.
 *
 * @param server with HTTPS
 * @param authority the PEM text of the certificates that the server's own is signed by
 * @param identity the PEM text of the client's certificate and private key; empty when it has none
 * @param token the client's bearer token; empty when it has none
 */
record Kubeconfig(URI server, String authority, String identity, String token) {
    private static final YAMLMapper YAML = new YAMLMapper();
    private static final int LONGEST = 256 << 10;

    /**
     * @throws RefusedException saying what it lacks, or has that is not supported
     * @throws IOException when a file cannot be read
     */
    static Kubeconfig read(Path file) throws RefusedException, IOException {
        JsonNode all = tree(file);
        JsonNode context = named(all, "contexts", all.path("current-context").asText(), "context");
        JsonNode cluster = named(all, "clusters", context.path("cluster").asText(), "cluster");
        JsonNode user = named(all, "users", context.path("user").asText(), "user");
        Reader reader = new Reader(file);
        String identity =
                reader.text(user, "client-certificate") + "\n" + reader.text(user, "client-key");
        String token =
                user.path("token").asText(reader.file(user.path("tokenFile").asText())).strip();
        Kubeconfig read =
                new Kubeconfig(
                        server(file, cluster.path("server").asText()),
                        reader.text(cluster, "certificate-authority"),
                        identity.strip(),
                        token);
        boolean isInsecure = cluster.path("insecure-skip-tls-verify").asBoolean();
        if (isInsecure || read.authority().isBlank() || cluster.has("tls-server-name")) {
            throw refusal(
                    file, "its cluster needs certificate-authority, and no other TLS setting");
        }
        if (read.identity().isEmpty() && token.isEmpty()) {
            throw refusal(file, "its user needs client-certificate and client-key, or a token");
        }
        return read;
    }

    private static JsonNode tree(Path file) throws RefusedException, IOException {
        byte[] text =
                RegularFile.readConfiguration(file, LONGEST)
                        .orElseThrow(() ->
                                new RefusedException(
                                        file + " does not exist",
                                        "set kubeconfig below [kubernetes]"));
        try {
            return YAML.readTree(text);
        } catch (JsonProcessingException e) {
            throw refusal(file, "it is no kubeconfig file");
        }
    }

    private static JsonNode named(JsonNode all, String list, String name, String part) {
        for (JsonNode each : all.path(list)) {
            if (each.path("name").asText().equals(name)) {
                return each.path(part);
            }
        }
        return all.path("nothing");
    }

    private static URI server(Path file, String text) throws RefusedException {
        try {
            URI server = URI.create(text.replaceFirst("/+$", ""));
            if ("https".equals(server.getScheme()) && server.getHost() != null) {
                return server;
            }
        } catch (IllegalArgumentException e) {
            // As one that is not there.
        }
        throw refusal(file, "its current context names no server https://HOST:PORT");
    }

    private static RefusedException refusal(Path file, String why) {
        return new RefusedException(
                "cannot use the credentials in " + file + ": " + why,
                "write another file, and set kubeconfig below [kubernetes]");
    }

    /** Reads what a file has, or names. */
    private record Reader(Path kubeconfig) {
        /** The value of a key: its data, or those of the file that it names; else empty. */
        String text(JsonNode parent, String key) throws RefusedException, IOException {
            String data = parent.path(key + "-data").asText();
            if (data.isEmpty()) {
                return file(parent.path(key).asText());
            }
            try {
                return new String(Base64.getDecoder().decode(data), StandardCharsets.ISO_8859_1);
            } catch (IllegalArgumentException e) {
                throw refusal(kubeconfig, key + "-data is not in base64");
            }
        }

        String file(String path) throws IOException {
            Optional<byte[]> bytes =
                    path.isEmpty()
                            ? Optional.empty()
                            : RegularFile.readConfiguration(
                                    kubeconfig.resolveSibling(path), LONGEST);
            return bytes.map(it -> new String(it, StandardCharsets.ISO_8859_1)).orElse("");
        }
    }
}
