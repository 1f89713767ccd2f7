package jnvdocker.docker.engine;

import com.github.dockerjava.transport.DockerHttpClient;
import com.github.dockerjava.transport.UnixSocket;

import org.apache.hc.client5.http.classic.methods.HttpUriRequestBase;
import org.apache.hc.client5.http.config.ConnectionConfig;
import org.apache.hc.client5.http.impl.DefaultSchemePortResolver;
import org.apache.hc.client5.http.impl.classic.CloseableHttpClient;
import org.apache.hc.client5.http.impl.classic.HttpClients;
import org.apache.hc.client5.http.impl.io.DefaultHttpClientConnectionOperator;
import org.apache.hc.client5.http.impl.io.PoolingHttpClientConnectionManager;
import org.apache.hc.core5.http.ClassicHttpResponse;
import org.apache.hc.core5.http.Header;
import org.apache.hc.core5.http.HttpHost;
import org.apache.hc.core5.http.HttpStatus;
import org.apache.hc.core5.http.io.SocketConfig;
import org.apache.hc.core5.http.io.entity.ByteArrayEntity;
import org.apache.hc.core5.util.TimeValue;
import org.apache.hc.core5.util.Timeout;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.Socket;
import java.net.URI;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * docker-java's requests, over an engine's Unix socket, each sent once. docker-java's own transport
 * sends a request again one second after its connection broke: by then the engine that broke it may
 * have stopped, and the new connection has systemd start it.
 */
final class EngineTransport implements DockerHttpClient {
    /** The value of the Host header; a Unix socket has no host's name. */
    private static final HttpHost HOST = new HttpHost("unix", "localhost", 2375);

    private static final int LONGEST_ERROR = 64 << 10;

    private final CloseableHttpClient client;

    /** Whether the engine may be connected to. */
    @FunctionalInterface
    interface Gate {
        /**
         * Is called before each connection.
         *
         * @throws IOException when it must not be made
         */
        void pass() throws IOException;
    }

    EngineTransport(Path socket, int connections, Gate gate) {
        var operator =
                new DefaultHttpClientConnectionOperator(
                        _ -> connect(socket, gate),
                        DefaultSchemePortResolver.INSTANCE,
                        null,
                        _ -> null);
        var pool = new PoolingHttpClientConnectionManager(operator, null, null, null, null);
        // A UnixSocket has no limit for a read: an answer takes as long as the engine likes, and a
        // check whether a kept connection still lives would take for ever.
        pool.setDefaultSocketConfig(
                SocketConfig.custom().setSoTimeout(Timeout.ZERO_MILLISECONDS).build());
        pool.setDefaultConnectionConfig(
                ConnectionConfig.custom()
                        .setValidateAfterInactivity(TimeValue.NEG_ONE_SECOND)
                        .build());
        pool.setMaxTotal(connections);
        pool.setDefaultMaxPerRoute(connections);
        client =
                HttpClients.custom()
                        .setConnectionManager(pool)
                        .disableAutomaticRetries()
                        .disableRedirectHandling()
                        .disableCookieManagement()
                        .disableAuthCaching()
                        .disableContentCompression()
                        .disableConnectionState()
                        .build();
    }

    private static Socket connect(Path socket, Gate gate) throws IOException {
        gate.pass();
        return UnixSocket.get(socket.toString());
    }

    @Override
    public Response execute(Request request) {
        var sent = new HttpUriRequestBase(request.method(), URI.create(request.path()));
        request.headers().forEach(sent::addHeader);
        if (request.bodyBytes() != null) {
            sent.setEntity(new ByteArrayEntity(request.bodyBytes(), null));
        }
        try {
            return new Answer(sent, client.executeOpen(HOST, sent, null));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Override
    public void close() throws IOException {
        client.close();
    }

    private record Answer(HttpUriRequestBase request, ClassicHttpResponse response)
            implements Response {
        @Override
        public int getStatusCode() {
            return response.getCode();
        }

        @Override
        public Map<String, List<String>> getHeaders() {
            return Stream.of(response.getHeaders())
                    .collect(
                            Collectors.groupingBy(
                                    Header::getName,
                                    Collectors.mapping(Header::getValue, Collectors.toList())));
        }

        @Override
        public String getHeader(String name) {
            Header header = response.getFirstHeader(name);
            return header == null ? null : header.getValue();
        }

        /** The body; of an error, only its beginning: docker-java reads that whole, as one text. */
        @Override
        public InputStream getBody() {
            try {
                InputStream body =
                        response.getEntity() == null
                                ? InputStream.nullInputStream()
                                : response.getEntity().getContent();
                return response.getCode() < HttpStatus.SC_BAD_REQUEST
                        ? body
                        : new ByteArrayInputStream(body.readNBytes(LONGEST_ERROR));
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }

        /** An answer that was not read to its end, as of events, ends with its connection. */
        @Override
        public void close() {
            request.abort();
            try {
                response.close();
            } catch (IOException e) {
                // Its connection is gone, as intended.
            }
        }
    }
}
