package jnvdocker.kubernetes.dra;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;

import jnvdocker.json.ForeignJson;
import jnvdocker.posix.FileErrors;
import jnvdocker.words.Quote;
import jnvdocker.words.RefusedException;

import org.apache.hc.client5.http.classic.methods.HttpUriRequestBase;
import org.apache.hc.client5.http.config.ConnectionConfig;
import org.apache.hc.client5.http.impl.classic.CloseableHttpClient;
import org.apache.hc.client5.http.impl.classic.HttpClients;
import org.apache.hc.client5.http.impl.io.PoolingHttpClientConnectionManagerBuilder;
import org.apache.hc.client5.http.ssl.DefaultClientTlsStrategy;
import org.apache.hc.core5.http.ClassicHttpResponse;
import org.apache.hc.core5.http.ContentType;
import org.apache.hc.core5.http.HttpHeaders;
import org.apache.hc.core5.http.io.entity.StringEntity;
import org.apache.hc.core5.io.CloseMode;
import org.apache.hc.core5.util.TimeValue;
import org.apache.hc.core5.util.Timeout;

import java.io.IOException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
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

    private static final int MOST_TEXT = 300;

    private final Path kubeconfig;
    private Optional<Connected> connected = Optional.empty();

    /** A client, and the credentials that it has. */
    private record Connected(Kubeconfig config, CloseableHttpClient client) {}

    private record Answer(int code, String text) {}

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
        HttpUriRequestBase request = new HttpUriRequestBase(method, uri);
        request.setHeader(HttpHeaders.ACCEPT, ContentType.APPLICATION_JSON.getMimeType());
        if (!to.config().token().isEmpty()) {
            request.setHeader(HttpHeaders.AUTHORIZATION, "Bearer " + to.config().token());
        }
        body.ifPresent(it ->
                request.setEntity(new StringEntity(it.toString(), ContentType.APPLICATION_JSON)));
        Answer answer = send(to.client(), request, uri);
        if (answer.code() / 100 != 2) {
            throw new ApiException(
                    answer.code(),
                    to.config().server()
                            + " answers "
                            + answer.code()
                            + " to "
                            + method
                            + " "
                            + path
                            + message(answer.text()));
        }
        return parse(answer.text(), uri);
    }

    /** Reads an object. */
    JsonNode get(String path) throws RefusedException, IOException {
        return request("GET", path, Optional.empty());
    }

    /** The client's own limits are those of a connection and a read, not of an answer. */
    private static Answer send(CloseableHttpClient client, HttpUriRequestBase request, URI uri)
            throws IOException {
        FutureTask<Answer> answer =
                new FutureTask<>(() -> client.execute(request, ApiServer::read));
        Thread.ofVirtual().name("dra-request").start(answer);
        try {
            return answer.get(LIMIT.toMillis(), TimeUnit.MILLISECONDS);
        } catch (ExecutionException e) {
            String why =
                    e.getCause() instanceof IOException io && io.getMessage() != null
                            ? FileErrors.reason(io)
                            : e.getCause().getClass().getSimpleName();
            throw new IOException(unanswered(uri) + " (" + cut(why) + ")", e.getCause());
        } catch (TimeoutException e) {
            request.abort();
            throw new IOException(
                    unanswered(uri) + " (no answer within " + LIMIT.toSeconds() + " s)", e);
        } catch (InterruptedException e) {
            request.abort();
            Thread.currentThread().interrupt();
            throw new IOException("interrupted during a request to the API server", e);
        }
    }

    /** The client closes the connection of an answer that is not read to its end. */
    private static Answer read(ClassicHttpResponse response) throws IOException {
        if (response.getEntity() == null) {
            return new Answer(response.getCode(), "");
        }
        byte[] bytes = response.getEntity().getContent().readNBytes(MOST_ANSWER + 1);
        if (bytes.length > MOST_ANSWER) {
            throw new IOException("its answer has more than " + MOST_ANSWER + " bytes");
        }
        return new Answer(response.getCode(), new String(bytes, StandardCharsets.UTF_8));
    }

    private static String unanswered(URI uri) {
        return "the API server does not answer at " + uri;
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
        } catch (JsonProcessingException | ForeignJson.TooLongException e) {
            throw new IOException("the answer of " + uri + " cannot be read", e);
        }
    }

    /** Reads a text of the API, without the notes of its other clients. */
    static JsonNode tree(String text) throws IOException {
        JsonNode root =
                ForeignJson.tree(
                        JSON, text, MOST_ANSWER, (_, member) -> !member.equals("managedFields"));
        return root == null ? JSON.createObjectNode() : root;
    }

    private synchronized Connected connect() throws RefusedException, IOException {
        Kubeconfig now = Kubeconfig.read(kubeconfig);
        if (connected.filter(it -> it.config().equals(now)).isPresent()) {
            return connected.get();
        }
        close();
        try {
            CloseableHttpClient client = client(now);
            connected = Optional.of(new Connected(now, client));
            return connected.get();
        } catch (GeneralSecurityException e) {
            throw new RefusedException(
                    "cannot use the credentials in " + kubeconfig + " (" + e.getMessage() + ")",
                    "write another file, and set kubeconfig below [kubernetes]");
        }
    }

    private static CloseableHttpClient client(Kubeconfig config)
            throws GeneralSecurityException, IOException {
        ConnectionConfig limits =
                ConnectionConfig.custom()
                        .setConnectTimeout(Timeout.of(CONNECT))
                        .setSocketTimeout(Timeout.of(LIMIT))
                        .setValidateAfterInactivity(TimeValue.ZERO_MILLISECONDS)
                        .build();
        return HttpClients.custom()
                .setConnectionManager(
                        PoolingHttpClientConnectionManagerBuilder.create()
                                .setTlsSocketStrategy(
                                        new DefaultClientTlsStrategy(
                                                Pem.context(config.authority(), config.identity())))
                                .setDefaultConnectionConfig(limits)
                                .build())
                .disableAutomaticRetries()
                .disableRedirectHandling()
                .disableCookieManagement()
                .disableAuthCaching()
                .disableContentCompression()
                .disableConnectionState()
                .build();
    }

    @Override
    public synchronized void close() {
        connected.ifPresent(it -> it.client().close(CloseMode.IMMEDIATE));
        connected = Optional.empty();
    }
}
