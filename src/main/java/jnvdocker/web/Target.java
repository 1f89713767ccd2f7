package jnvdocker.web;

import jnvdocker.words.InvalidValueException;
import jnvdocker.words.Quote;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * What the first line of a request names: {@code /v2/chart?hours=168}.
 *
 * @param query the values of each parameter, in the order in which they came
 */
record Target(String path, Map<String, List<String>> query) {
    private static final int MOST_PARAMETERS = 64;
    private static final int HEXADECIMAL = 16;

    /**
     * @throws InvalidValueException when it is no path, or is not encoded as URLs are
     */
    static Target parse(String text) {
        if (!text.startsWith("/")) {
            throw new InvalidValueException(
                    Quote.quoted(text) + " is not a path", "begin it with /");
        }
        int mark = text.indexOf('?');
        String path = decoded(mark < 0 ? text : text.substring(0, mark), false);
        return new Target(path, mark < 0 ? Map.of() : query(text.substring(mark + 1)));
    }

    private static Map<String, List<String>> query(String text) {
        Map<String, List<String>> query = new LinkedHashMap<>();
        String[] parameters = text.split("&", MOST_PARAMETERS + 1);
        if (parameters.length > MOST_PARAMETERS) {
            throw new InvalidValueException(
                    "more than " + MOST_PARAMETERS + " parameters", "request less at a time");
        }
        for (String parameter : parameters) {
            if (!parameter.isEmpty()) {
                int equals = parameter.indexOf('=');
                String name = equals < 0 ? parameter : parameter.substring(0, equals);
                String value = equals < 0 ? "" : parameter.substring(equals + 1);
                query.computeIfAbsent(decoded(name, true), _ -> new ArrayList<>())
                        .add(decoded(value, true));
            }
        }
        return query;
    }

    private static String decoded(String text, boolean plusIsBlank) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream(text.length());
        for (int at = 0; at < text.length(); at++) {
            char c = text.charAt(at);
            if (c == '%') {
                bytes.write(escaped(text, at));
                at += 2;
            } else if (c <= ' ' || c >= 0x7f) {
                throw new InvalidValueException(
                        Quote.quoted(text) + " has characters that a URL cannot have",
                        "write them in hexadecimal, a blank as %20");
            } else {
                bytes.write(plusIsBlank && c == '+' ? ' ' : c);
            }
        }
        String decoded = utf8(bytes.toByteArray(), text);
        if (decoded.codePoints().anyMatch(Character::isISOControl)) {
            throw new InvalidValueException(
                    Quote.quoted(text) + " has control characters", "leave them out");
        }
        return decoded;
    }

    private static int escaped(String text, int at) {
        int high = at + 1 < text.length() ? Character.digit(text.charAt(at + 1), HEXADECIMAL) : -1;
        int low = at + 2 < text.length() ? Character.digit(text.charAt(at + 2), HEXADECIMAL) : -1;
        if (high < 0 || low < 0) {
            throw new InvalidValueException(
                    Quote.quoted(text) + " has a % without two hexadecimal digits",
                    "write a percent sign as %25");
        }
        return high * HEXADECIMAL + low;
    }

    private static String utf8(byte[] bytes, String text) {
        try {
            return StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes)).toString();
        } catch (CharacterCodingException e) {
            throw new InvalidValueException(
                    Quote.quoted(text) + " is not UTF-8 text", "write it as that");
        }
    }
}
