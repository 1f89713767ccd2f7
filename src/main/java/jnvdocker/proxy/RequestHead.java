package jnvdocker.proxy;

import jnvdocker.protocol.FrameMemory;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Predicate;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * The request line and headers of a request. Whatever the engine could read differently is refused,
 * since a request that only the engine takes for a create would get no label.
 *
 * @param target as the client has written it
 * @param path the target's path as the engine's router sees it: decoded, without empty segments,
 *     dot segments and a slash at its end
 */
record RequestHead(
        String method, String target, String path, String version, List<Header> headers) {
    private static final int MAX = 1 << 20;

    /** What is charged at a time; strings and copies take a few times the memory of the bytes. */
    private static final int STEP = 16 << 10;

    private static final int COPIES = 4;
    private static final int CR_LF_CR_LF = 0x0d0a0d0a;

    private static final Pattern REQUEST_LINE =
            Pattern.compile(
                    "([!#$%&'*+.^_`|~0-9A-Za-z-]+) ([^ \\x00-\\x1f\\x7f]+) (HTTP/1[.][01])");

    /** A name with a space before its colon, and a line that continues another, do not match. */
    private static final Pattern NAME = Pattern.compile("([!#$%&'*+.^_`|~0-9A-Za-z-]+):");

    private static final Pattern LENGTH = Pattern.compile("[0-9]{1,18}");
    private static final Pattern SCHEME = Pattern.compile("^[A-Za-z][A-Za-z0-9+.-]*:(//[^/?]*)?");
    private static final Pattern CREATE =
            Pattern.compile(
                    "(?:/v[^/]*)?/(?:containers/create|(services/(?:create|.+/update)))",
                    Pattern.DOTALL);

    /** By which a container is started, by its id or name. */
    private static final Pattern START =
            Pattern.compile("(/v[0-9.]+|)/containers/([A-Za-z0-9][A-Za-z0-9_.-]*)/(start|restart)");

    /** The paths on which docker turns the connection into a stream of its own. */
    private static final Pattern STREAM =
            Pattern.compile(
                    "(?:/v[^/]*)?/(?:containers/.+/attach(?:/ws)?|exec/.+/start|session|grpc|build)",
                    Pattern.DOTALL);

    private static final Set<String> ABOUT_CONNECTION =
            names("Connection", "Keep-Alive", "Proxy-Connection", "Upgrade");
    private static final Set<String> ABOUT_BODY =
            names("Content-Length", "Transfer-Encoding", "Trailer", "Expect");

    /**
     * A header.
     *
     * @param value all that follows the colon
     */
    record Header(String name, String value) {
        boolean is(String other) {
            return name.equalsIgnoreCase(other);
        }
    }

    /** All of them are in ASCII, where the case has one meaning. */
    private static Set<String> names(String... names) {
        Set<String> set = new TreeSet<>(String.CASE_INSENSITIVE_ORDER);
        set.addAll(List.of(names));
        return set;
    }

    /**
     * Reads a head up to its empty line.
     *
     * @param first its first byte
     */
    static RequestHead read(int first, InputStream in, FrameMemory.Account memory)
            throws IOException {
        ByteArrayOutputStream head = new ByteArrayOutputStream(512);
        // The last four bytes.
        int last = 0;
        int next = first;
        while (true) {
            if (next < 0) {
                throw RequestRefusal.malformed("the request ends in its head");
            }
            if (next == 0 || ((last & 0xff) == '\r') != (next == '\n')) {
                throw RequestRefusal.malformed(
                        "the request's head has a line end that is not CR LF, or a NUL");
            }
            if (head.size() == MAX) {
                throw new RequestRefusal(
                        RequestRefusal.HEAD_TOO_LARGE,
                        "the request's head has more than " + MAX + " bytes",
                        "send less in its address and headers");
            }
            if (head.size() % STEP == STEP - 1) {
                memory.take((long) STEP * COPIES);
            }
            head.write(next);
            last = last << 8 | next;
            if (last == CR_LF_CR_LF) {
                break;
            }
            next = in.read();
        }
        return parse(head.toString(StandardCharsets.ISO_8859_1));
    }

    /**
     * Parses a head.
     *
     * @param text whose lines, and an empty one at its end, have CR LF
     */
    static RequestHead parse(String text) throws RequestRefusal {
        String[] lines = text.split("\r\n");
        Matcher first = REQUEST_LINE.matcher(lines.length == 0 ? "" : lines[0]);
        // PRI begins HTTP/2, whose requests could not be seen.
        if (!first.matches() || first.group(1).equals("PRI")) {
            throw RequestRefusal.malformed("the request is not one of HTTP/1.0 or HTTP/1.1");
        }
        List<Header> headers = new ArrayList<>();
        for (int i = 1; i < lines.length; i++) {
            Matcher name = NAME.matcher(lines[i]);
            if (!name.lookingAt()) {
                throw RequestRefusal.malformed("line " + (i + 1) + " of the request is no header");
            }
            headers.add(new Header(name.group(1), lines[i].substring(name.end())));
        }
        RequestHead head =
                new RequestHead(
                        first.group(1),
                        first.group(2),
                        path(first.group(2)),
                        first.group(3),
                        List.copyOf(headers));
        head.checkBody();
        return head;
    }

    private void checkBody() throws RequestRefusal {
        List<String> lengths = values("Content-Length").toList();
        List<String> encodings = values("Transfer-Encoding").toList();
        boolean one = lengths.size() + encodings.size() <= 1;
        boolean known =
                lengths.stream().allMatch(LENGTH.asMatchPredicate())
                        && encodings.stream().allMatch("chunked"::equalsIgnoreCase)
                        && (encodings.isEmpty() || isHttp11());
        if (!one || !known) {
            throw RequestRefusal.malformed("the length of the request's body is not clear");
        }
    }

    private static String path(String target) throws RequestRefusal {
        String rest = SCHEME.matcher(target).replaceFirst("");
        int query = rest.indexOf('?');
        Deque<String> segments = new ArrayDeque<>();
        for (String segment : decode(query < 0 ? rest : rest.substring(0, query)).split("/")) {
            switch (segment) {
                case "", "." -> {}
                case ".." -> segments.pollLast();
                default -> segments.addLast(segment);
            }
        }
        return "/" + String.join("/", segments);
    }

    /** Each byte is a character: letters other than ASCII are in no path of the API. */
    private static String decode(String encoded) throws RequestRefusal {
        StringBuilder decoded = new StringBuilder(encoded.length());
        for (int i = 0; i < encoded.length(); i++) {
            char next = encoded.charAt(i);
            if (next == '%') {
                int high = i + 2 < encoded.length() ? digit(encoded.charAt(i + 1)) : -1;
                int low = i + 2 < encoded.length() ? digit(encoded.charAt(i + 2)) : -1;
                if (high < 0 || low < 0) {
                    throw RequestRefusal.malformed("the request's path has a % without a number");
                }
                next = (char) (high << 4 | low);
                i += 2;
            }
            decoded.append(next);
        }
        return decoded.toString();
    }

    private static int digit(char hex) {
        return hex < 0x80 ? Character.digit(hex, 16) : -1;
    }

    boolean isHttp11() {
        return version.equals("HTTP/1.1");
    }

    /** Returns the place of the labels in the body, if the request creates containers. */
    Optional<OwnerLabel.Place> creates() {
        Matcher matcher = CREATE.matcher(path);
        if (!method.equals("POST") || !matcher.matches()) {
            return Optional.empty();
        }
        return Optional.of(
                matcher.group(1) == null
                        ? OwnerLabel.Place.OF_CONTAINER
                        : OwnerLabel.Place.OF_SERVICE);
    }

    /** Returns the id or name of the container that the request starts, if it starts one. */
    Optional<String> starts() {
        Matcher matcher = START.matcher(path);
        return method.equals("POST") && matcher.matches()
                ? Optional.of(matcher.group(2))
                : Optional.empty();
    }

    /**
     * Returns the head of a start with the id of its container, which stays when that is renamed.
     */
    RequestHead withContainer(String id) {
        String started = START.matcher(path).replaceFirst("$1/containers/" + id + "/$3");
        int query = target.indexOf('?');
        return new RequestHead(
                method,
                query < 0 ? started : started + target.substring(query),
                started,
                version,
                headers);
    }

    Stream<String> values(String name) {
        return headers.stream()
                .filter(header -> header.is(name))
                .map(header -> header.value().strip());
    }

    /** Returns the same head for a body of another length, which is sent as a whole. */
    RequestHead withLength(int length) {
        List<Header> changed =
                new ArrayList<>(without(header -> ABOUT_BODY.contains(header.name())));
        changed.add(new Header("Content-Length", " " + Integer.toString(length)));
        return new RequestHead(method, target, path, version, changed);
    }

    private List<Header> without(Predicate<Header> dropped) {
        return headers.stream().filter(dropped.negate()).toList();
    }

    /**
     * Returns the head for the engine, which is to read no second request from the connection: we
     * would not see it. An upgrade is left to the paths that need one, since it could lead to
     * HTTP/2.
     */
    byte[] forwarded() {
        StringBuilder head = new StringBuilder();
        head.append(method).append(' ').append(target).append(' ').append(version).append("\r\n");
        boolean upgrades = STREAM.matcher(path).matches() && values("Upgrade").count() > 0;
        without(header ->
                        ABOUT_CONNECTION.contains(header.name())
                                && !(upgrades && header.is("Upgrade")))
                .forEach(header ->
                        head.append(header.name())
                                .append(':')
                                .append(header.value())
                                .append("\r\n"));
        head.append(upgrades ? "Connection: Upgrade, close" : "Connection: close");
        return head.append("\r\n\r\n").toString().getBytes(StandardCharsets.ISO_8859_1);
    }
}
