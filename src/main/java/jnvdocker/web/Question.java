package jnvdocker.web;

import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.handler.codec.http.TooLongHttpHeaderException;
import io.netty.handler.codec.http.TooLongHttpLineException;

import jnvdocker.words.InvalidValueException;
import jnvdocker.words.Quote;

import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.regex.Pattern;

/**
 * Lets a request through, or refuses it. A page of another site that a browser of this host shows
 * could have the browser send requests here; it cannot set the headers by which that is detected.
 */
final class Question {
    /** Names and addresses that mean this host wherever they are resolved. */
    private static final Pattern THIS_HOST =
            Pattern.compile(
                    "(localhost|127\\.[0-9]{1,3}\\.[0-9]{1,3}\\.[0-9]{1,3}|\\[::1\\])(:[0-9]{1,5})?",
                    Pattern.CASE_INSENSITIVE);

    /** The Host headers of clients of a Unix socket, besides the names of this host. */
    private static final Set<String> SOCKET = Set.of("", "unix", "jnvdocker");

    /** The paths of nvidia-docker 1.0, which has no page for another method. */
    private static final Pattern OLD_PATH = Pattern.compile("(/v1\\.0)?/(gpu|docker|mesos)/.*");

    private static final String LAST_EVENT = "Last-Event-ID";

    private Question() {}

    /**
     * @param uid of a client on the daemon's own socket, which is trusted; empty over TCP
     * @throws RefusedQuestionException when it is not let through
     */
    static WebRequest of(HttpRequest request, OptionalInt uid) throws RefusedQuestionException {
        boolean trusted = uid.isPresent();
        checkSize(request);
        checkSite(request, trusted);
        Target target = target(request);
        checkMethod(request.method(), target.path());
        checkBody(request.headers());
        return new WebRequest(
                target.path(),
                target.query(),
                trusted,
                uid,
                Optional.ofNullable(request.headers().get(LAST_EVENT)));
    }

    private static void checkSize(HttpRequest request) throws RefusedQuestionException {
        if (request.decoderResult().isSuccess()) {
            return;
        }
        throw switch (request.decoderResult().cause()) {
            case TooLongHttpLineException _ ->
                    new RefusedQuestionException(
                            HttpResponseStatus.REQUEST_URI_TOO_LONG,
                            "the request's first line is longer than "
                                    + WebConnection.MOST_LINE
                                    + " bytes",
                            "shorten it");
            case TooLongHttpHeaderException _ ->
                    new RefusedQuestionException(
                            HttpResponseStatus.REQUEST_HEADER_FIELDS_TOO_LARGE,
                            "the request's headers are longer than "
                                    + WebConnection.MOST_HEADERS
                                    + " bytes",
                            "shorten them");
            default ->
                    new RefusedQuestionException(
                            HttpResponseStatus.BAD_REQUEST,
                            "the request is not HTTP",
                            "send a request of HTTP/1.1");
        };
    }

    private static void checkSite(HttpRequest request, boolean trusted)
            throws RefusedQuestionException {
        List<String> hosts = request.headers().getAll(HttpHeaderNames.HOST);
        // Every browser sends one.
        boolean none = hosts.isEmpty() && !request.protocolVersion().equals(HttpVersion.HTTP_1_1);
        if (!none && hosts.size() != 1) {
            throw new RefusedQuestionException(
                    HttpResponseStatus.BAD_REQUEST,
                    "the request has " + hosts.size() + " Host headers",
                    "send one");
        }
        String host = none ? "" : hosts.getFirst();
        boolean isSocket = trusted && SOCKET.contains(host);
        if (!none && !isSocket && !THIS_HOST.matcher(host).matches()) {
            throw new RefusedQuestionException(
                    HttpResponseStatus.FORBIDDEN,
                    "the Host header " + Quote.quoted(host) + " is not this host",
                    "use localhost or 127.0.0.1");
        }
        for (String origin : request.headers().getAll(HttpHeaderNames.ORIGIN)) {
            if (!origin.equalsIgnoreCase("http://" + host)) {
                throw new RefusedQuestionException(
                        HttpResponseStatus.FORBIDDEN,
                        "cross-origin requests are refused (Origin " + Quote.quoted(origin) + ")",
                        "use curl or another client that is no browser");
            }
        }
    }

    private static Target target(HttpRequest request) throws RefusedQuestionException {
        try {
            return Target.parse(request.uri());
        } catch (InvalidValueException e) {
            throw new RefusedQuestionException(
                    HttpResponseStatus.BAD_REQUEST,
                    e.refusal().what(),
                    e.refusal().remedy().orElse("request another page"));
        }
    }

    private static void checkMethod(HttpMethod method, String path)
            throws RefusedQuestionException {
        if (method.equals(HttpMethod.GET) || method.equals(HttpMethod.HEAD)) {
            return;
        }
        throw new RefusedQuestionException(
                OLD_PATH.matcher(path).matches()
                        ? HttpResponseStatus.NOT_FOUND
                        : HttpResponseStatus.METHOD_NOT_ALLOWED,
                "the method " + Quote.quoted(method.name()) + " is not supported",
                "use GET or HEAD");
    }

    private static void checkBody(HttpHeaders headers) throws RefusedQuestionException {
        boolean none =
                headers.getAll(HttpHeaderNames.CONTENT_LENGTH).stream().allMatch("0"::equals);
        if (!none || headers.contains(HttpHeaderNames.TRANSFER_ENCODING)) {
            throw new RefusedQuestionException(
                    HttpResponseStatus.BAD_REQUEST,
                    "the request has a body, which no page takes",
                    "send none");
        }
    }
}
