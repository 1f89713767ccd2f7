package jnvdocker.web;

import jnvdocker.words.InvalidValueException;
import jnvdocker.words.Quote;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * An address of this host alone, and a port: {@code 127.0.0.1:3476}. A client over TCP cannot be
 * identified, so no other host may connect.
 *
 * @param text as it was written
 */
public record ListenAddress(String text, InetSocketAddress address) {
    private static final Pattern FORM =
            Pattern.compile("(localhost|[0-9]+(?:\\.[0-9]+){3}|\\[[0-9a-fA-F:.]+\\]):([0-9]{1,5})");

    private static final String REMEDY = "write an address of this host and a port: 127.0.0.1:3476";
    private static final int PORTS = 1 << 16;

    /**
     * @throws InvalidValueException when it is no such address; its message begins with the value
     */
    public static ListenAddress parse(String text) {
        Matcher form = FORM.matcher(text);
        if (!form.matches()) {
            throw new InvalidValueException(
                    Quote.quoted(text) + " is not an IP address and a port", REMEDY);
        }
        int port = Integer.parseInt(form.group(2));
        if (port == 0 || port >= PORTS) {
            throw new InvalidValueException(
                    Quote.quoted(text) + " has no port between 1 and " + (PORTS - 1), REMEDY);
        }
        InetAddress host = host(form.group(1), text);
        if (!host.isLoopbackAddress()) {
            throw new InvalidValueException(
                    Quote.quoted(text)
                            + " can be reached from other hosts, and jnvdocker requires no"
                            + " password",
                    "use 127.0.0.1, and a proxy with a password for other hosts");
        }
        return new ListenAddress(text, new InetSocketAddress(host, port));
    }

    /** No name is resolved: what it means may change. */
    private static InetAddress host(String host, String text) {
        try {
            return InetAddress.ofLiteral(host.equals("localhost") ? "127.0.0.1" : host);
        } catch (IllegalArgumentException e) {
            throw new InvalidValueException(
                    Quote.quoted(text) + " is not an IP address and a port", REMEDY);
        }
    }
}
