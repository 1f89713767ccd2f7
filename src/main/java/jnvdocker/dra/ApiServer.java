package jnvdocker.dra;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;

import jnvdocker.json.BoundedParser;
import jnvdocker.posix.FileErrors;
import jnvdocker.words.Quote;
import jnvdocker.words.RefusedException;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * The API server of a cluster: JSON over HTTPS, with the credentials of a kubeconfig file, which is
 * read for each request, so that renewed ones are used.
 */
final class ApiServer implements AutoCloseable {
    static final JsonMapper JSON = new JsonMapper();

    private static final Duration CONNECT = Duration.ofSeconds(5);
    private static final Duration LIMIT = Duration.ofSeconds(10);

    /** The limit of an object in Kubernetes' own store is 1.5 MB. */
    private static final int MOST_ANSWER = 2 << 20;

    private static final long MOST_WEIGHT = 32L << 20;
    private static final int MOST_TEXT = 300;

    private final Path kubeconfig;
    private Optional<Connected> connected = Optional.empty();

    /** A client, and the credentials that it has. */
    private record Connected(Kubeconfig config, HttpClient client) {}

    ApiServer(Path kubeconfig) {
        this.kubeconfig = kubeconfig;
    }

    /**
     * Sends a request, and returns the answer.
     *
     * @param path with a query, perhaps, in the form of a URI
     * @param body of POST and PUT
     * @throws ApiException when the server refuses it
     * @throws RefusedException when the credentials cannot be used
     * @throws IOException when the server does not answer in time, or not with JSON
     */
    JsonNode request(String method, String path, Optional<JsonNode> body)
            throws RefusedException, IOException {
        Connected to = connect();
        URI uri = URI.create(to.config().server() + path);
        HttpRequest.Builder request =
                HttpRequest.newBuilder(uri)
                        .timeout(LIMIT)
                        .header("Accept", "application/json")
                        .header("Content-Type", "application/json")
                        .method(
                                method,
                                body.map(it -> HttpRequest.BodyPublishers.ofString(it.toString()))
                                        .orElse(HttpRequest.BodyPublishers.noBody()));
        if (!to.config().token().isEmpty()) {
            request.header("Authorization", "Bearer " + to.config().token());
        }
        HttpResponse<byte[]> answer = send(to.client(), request.build());
        String text = new String(answer.body(), StandardCharsets.UTF_8);
        if (answer.statusCode() / 100 != 2) {
            throw new ApiException(
                    answer.statusCode(),
                    to.config().server()
                            + " answers "
                            + answer.statusCode()
                            + " to "
                            + method
                            + " "
                            + path
                            + message(text));
        }
        return parse(text, uri);
    }

    /** Reads an object. */
    JsonNode get(String path) throws RefusedException, IOException {
        return request("GET", path, Optional.empty());
    }

    private HttpResponse<byte[]> send(HttpClient client, HttpRequest request) throws IOException {
        CompletableFuture<HttpResponse<byte[]>> answer =
                client.sendAsync(
                        request, BodyHandlers.limiting(BodyHandlers.ofByteArray(), MOST_ANSWER));
        try {
            return answer.get(LIMIT.toMillis(), TimeUnit.MILLISECONDS);
        } catch (ExecutionException e) {
            String why =
                    e.getCause() instanceof IOException io && io.getMessage() != null
                            ? FileErrors.reason(io)
                            : e.getCause().getClass().getSimpleName();
            throw new IOException(unanswered(request) + " (" + cut(why) + ")", e.getCause());
        } catch (TimeoutException e) {
            throw new IOException(
                    unanswered(request) + " (no answer within " + LIMIT.toSeconds() + " s)", e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException("interrupted during a request to the API server", e);
        } finally {
            answer.cancel(true);
        }
    }

    private static String unanswered(HttpRequest request) {
        return "the API server does not answer at " + request.uri();
    }

    private static String message(String text) {
        try {
            String why = tree(text).path("message").asText();
            return why.isEmpty() ? "" : " (" + cut(why) + ")";
        } catch (IOException e) {
            return "";
        }
    }

    private static String cut(String text) {
        return Quote.lines(text.length() > MOST_TEXT ? text.substring(0, MOST_TEXT) + "…" : text);
    }

    private static JsonNode parse(String text, URI uri) throws IOException {
        try {
            return tree(text);
        } catch (JsonProcessingException | BoundedParser.TooLongException e) {
            throw new IOException("the answer of " + uri + " cannot be read", e);
        }
    }

    /** Reads a text of the API, without the notes of its other clients. */
    static JsonNode tree(String text) throws IOException {
        JsonNode root =
                BoundedParser.tree(
                                JSON,
                                text,
                                (_, member) -> !member.equals("managedFields"),
                                MOST_WEIGHT)
                        .root();
        return root == null ? JSON.createObjectNode() : root;
    }

    private synchronized Connected connect() throws RefusedException, IOException {
        Kubeconfig now = Kubeconfig.read(kubeconfig);
        if (connected.filter(it -> it.config().equals(now)).isPresent()) {
            return connected.get();
        }
        close();
        try {
            HttpClient client =
                    HttpClient.newBuilder()
                            .version(HttpClient.Version.HTTP_1_1)
                            .connectTimeout(CONNECT)
                            .sslContext(Pem.context(now.authority(), now.identity()))
                            .build();
            connected = Optional.of(new Connected(now, client));
            return connected.get();
        } catch (GeneralSecurityException e) {
            throw new RefusedException(
                    "cannot use the credentials in " + kubeconfig + " (" + e.getMessage() + ")",
                    "write another file, and set kubeconfig below [kubernetes]");
        }
    }

    @Override
    public synchronized void close() {
        connected.ifPresent(it -> it.client().shutdownNow());
        connected = Optional.empty();
    }
}
