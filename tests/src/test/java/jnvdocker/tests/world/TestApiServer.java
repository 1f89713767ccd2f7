package jnvdocker.tests.world;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpsConfigurator;
import com.sun.net.httpserver.HttpsServer;

import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;

/**
 * The part of a cluster's API server that a driver of Dynamic Resource Allocation needs, over TLS
 * and with a token: it stores resource slices as a real one does, which was recorded, and serves
 * the claims that a test has made.
 */
public final class TestApiServer implements AutoCloseable {
    public static final String NODE = "node1";

    private static final ObjectMapper JSON = new ObjectMapper();
    private static final char[] PASSWORD = "test-only".toCharArray();
    private static final String TOKEN = "a-token-of-the-test";
    private static final String SLICES = "/apis/resource.k8s.io/v1/resourceslices";

    private final HttpsServer server;
    private final Path directory;
    private final Map<String, JsonNode> slices = new TreeMap<>();
    private final Map<String, JsonNode> claims = new TreeMap<>();
    private int version;
    private boolean taints = true;
    private boolean shares = true;
    private int failing;
    private int failingClaims;
    private int claimQueries;
    private final Set<String> orphans = new HashSet<>();

    private TestApiServer(HttpsServer server, Path directory) {
        this.server = server;
        this.directory = directory;
    }

    /** Starts one, whose certificate and kubeconfig are in a directory. */
    public static TestApiServer start(Path directory) throws IOException, GeneralSecurityException {
        Path store = directory.resolve("server.p12");
        Command.of(
                        Path.of(System.getProperty("java.home"), "bin/keytool"),
                        "-genkeypair",
                        "-alias",
                        "server",
                        "-keyalg",
                        "EC",
                        "-dname",
                        "CN=api",
                        "-ext",
                        "SAN=IP:127.0.0.1",
                        "-keystore",
                        store,
                        "-storepass",
                        new String(PASSWORD))
                .run()
                .ok();
        KeyStore keys = KeyStore.getInstance(store.toFile(), PASSWORD);
        KeyManagerFactory factory =
                KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
        factory.init(keys, PASSWORD);
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(factory.getKeyManagers(), null, null);
        HttpsServer server =
                HttpsServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.setHttpsConfigurator(new HttpsConfigurator(context));
        TestApiServer api = new TestApiServer(server, directory);
        server.createContext("/", api::answer);
        server.start();
        api.writeKubeconfig(keys.getCertificate("server").getEncoded());
        return api;
    }

    private void writeKubeconfig(byte[] certificate) throws IOException {
        String pem =
                "-----BEGIN CERTIFICATE-----\n"
                        + Base64.getMimeEncoder().encodeToString(certificate)
                        + "\n-----END CERTIFICATE-----\n";
        Files.writeString(
                kubeconfig(),
                """
                apiVersion: v1
                kind: Config
                clusters:
                - name: lab
                  cluster:
                    server: https://127.0.0.1:%d
                    certificate-authority-data: %s
                contexts:
                - name: node@lab
                  context: {cluster: lab, user: node}
                current-context: node@lab
                users:
                - name: node
                  user:
                    token: %s
                """
                        .formatted(
                                server.getAddress().getPort(),
                                Base64.getEncoder().encodeToString(pem.getBytes()),
                                TOKEN));
    }

    /** The file with the credentials. */
    public Path kubeconfig() {
        return directory.resolve("kubeconfig");
    }

    private void answer(HttpExchange exchange) throws IOException {
        try (exchange;
                InputStream in = exchange.getRequestBody()) {
            String text = new String(in.readAllBytes(), StandardCharsets.UTF_8);
            String token = exchange.getRequestHeaders().getFirst("Authorization");
            Answer answer =
                    ("Bearer " + TOKEN).equals(token)
                            ? answer(exchange.getRequestMethod(), exchange.getRequestURI(), text)
                            : refusal(401, "Unauthorized");
            byte[] bytes = answer.body().toString().getBytes(StandardCharsets.UTF_8);
            exchange.getResponseHeaders().set("Content-Type", "application/json");
            exchange.sendResponseHeaders(answer.code(), bytes.length);
            exchange.getResponseBody().write(bytes);
        }
    }

    private record Answer(int code, JsonNode body) {}

    private static Answer refusal(int code, String message) {
        return new Answer(
                code,
                JSON.createObjectNode()
                        .put("kind", "Status")
                        .put("message", message)
                        .put("code", code));
    }

    private synchronized Answer answer(String method, URI uri, String text) throws IOException {
        if (failing > 0) {
            return refusal(failing, "the server is not well");
        }
        String path = uri.getPath();
        if (path.equals("/api/v1/nodes/" + NODE)) {
            ObjectNode node = JSON.createObjectNode();
            node.putObject("metadata").put("name", NODE).put("uid", "71ec40b2");
            return new Answer(200, node);
        }
        if (path.contains("/resourceclaims/")) {
            return claim(path);
        }
        if (path.equals(SLICES)) {
            return method.equals("POST") ? create(JSON.readTree(text)) : list(uri.getRawQuery());
        }
        String name = path.startsWith(SLICES + "/") ? path.substring(SLICES.length() + 1) : "";
        if (!slices.containsKey(name)) {
            return refusal(404, path + " not found");
        }
        return method.equals("DELETE")
                ? new Answer(200, slices.remove(name))
                : replace(name, JSON.readTree(text));
    }

    /** As to a kubelet, which may read the claims of its own pods. */
    private Answer claim(String path) {
        claimQueries++;
        if (failingClaims > 0) {
            return refusal(failingClaims, "the server is not well");
        }
        if (!claims.containsKey(path)) {
            return refusal(404, path + " not found");
        }
        return orphans.contains(path)
                ? refusal(403, "no relationship found between node '" + NODE + "' and this object")
                : new Answer(200, claims.get(path));
    }

    private Answer list(String query) {
        String fields = URLDecoder.decode(query, StandardCharsets.UTF_8);
        if (!fields.contains("fieldSelector=spec.nodeName=" + NODE + ",spec.driver=")) {
            return refusal(403, "a node lists its own slices");
        }
        ObjectNode list = JSON.createObjectNode();
        list.putArray("items").addAll(slices.values());
        return new Answer(200, list);
    }

    private Answer create(JsonNode slice) {
        String name = slice.at("/metadata/generateName").asText() + ++version;
        ((ObjectNode) slice.get("metadata")).put("name", name);
        return new Answer(201, stored(name, slice));
    }

    private Answer replace(String name, JsonNode slice) {
        JsonNode before = slices.get(name);
        String resourceVersion = "/metadata/resourceVersion";
        if (!before.at(resourceVersion).equals(slice.at(resourceVersion))) {
            return refusal(409, "the object has been modified");
        }
        String generation = "/spec/pool/generation";
        if (slice.at(generation).asInt() <= before.at(generation).asInt()) {
            return refusal(422, "the same generation with other devices");
        }
        return new Answer(200, stored(name, slice));
    }

    /** Taints get a time, or are dropped where the cluster does not have them, as shares are. */
    private JsonNode stored(String name, JsonNode slice) {
        ((ObjectNode) slice.get("metadata")).put("resourceVersion", String.valueOf(++version));
        for (JsonNode device : slice.at("/spec/devices")) {
            if (taints) {
                device.path("taints")
                        .forEach(it -> ((ObjectNode) it).put("timeAdded", "2026-11-28T07:30:58Z"));
            } else {
                ((ObjectNode) device).remove("taints");
            }
            if (!shares) {
                ((ObjectNode) device).remove("allowMultipleAllocations");
                device.path("capacity").forEach(it -> ((ObjectNode) it).remove("requestPolicy"));
            }
        }
        slices.put(name, slice);
        return slice;
    }

    /** The devices of all slices, each as {@code gpu-5c1a0000-…}, or with its taint's value. */
    public synchronized List<String> devices() {
        List<String> all = new ArrayList<>();
        for (JsonNode slice : slices.values()) {
            for (JsonNode device : slice.at("/spec/devices")) {
                String taint = device.at("/taints/0/value").asText();
                all.add(device.path("name").asText() + (taint.isEmpty() ? "" : " " + taint));
            }
        }
        return all;
    }

    /** The slices. */
    public synchronized List<JsonNode> slices() {
        return List.copyOf(slices.values());
    }

    /** Deletes them, as a kubelet does whose driver has gone. */
    public synchronized void wipe() {
        slices.clear();
    }

    /** Another client changes all slices, which a writer with an old version does not know. */
    public synchronized void touch() {
        slices.values()
                .forEach(it ->
                        ((ObjectNode) it.get("metadata"))
                                .put("resourceVersion", String.valueOf(++version)));
    }

    /** Whether the cluster has taints of devices. */
    public synchronized void keepTaints(boolean keep) {
        taints = keep;
    }

    /** Whether the cluster has devices that several claims may share. */
    public synchronized void keepShares(boolean keep) {
        shares = keep;
    }

    /** Answers everything with that code, or as it should with 0. */
    public synchronized void fail(int code) {
        failing = code;
    }

    /** Allocates a claim in the namespace {@code team-a} to a pod. */
    public synchronized void allocate(TestClaim claim) {
        claims.put(path(claim), claim.json());
    }

    /** Deletes a claim, as the cluster does when the claim's pod was deleted by force. */
    public synchronized void delete(TestClaim claim) {
        claims.remove(path(claim));
    }

    /** A claim's pod was deleted by force: this node may not read the claim any more. */
    public synchronized void orphan(TestClaim claim) {
        orphans.add(path(claim));
    }

    /** Answers all queries about claims with that code, or as it should with 0. */
    public synchronized void failClaims(int code) {
        failingClaims = code;
    }

    /** Returns after so many more queries about claims. */
    public void awaitClaimQueries(int more) {
        int wanted = claimQueries() + more;
        Lab.await(() -> claimQueries() >= wanted ? List.of() : List.of("no query"));
    }

    private synchronized int claimQueries() {
        return claimQueries;
    }

    private static String path(TestClaim claim) {
        return "/apis/resource.k8s.io/v1/namespaces/team-a/resourceclaims/" + claim.name();
    }

    @Override
    public void close() {
        server.stop(0);
    }
}
