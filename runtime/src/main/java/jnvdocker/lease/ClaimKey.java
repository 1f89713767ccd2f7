package jnvdocker.lease;

import java.util.HexFormat;
import java.util.Optional;
import java.util.random.RandomGenerator;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The name of a claim. Anybody may see the id. The client that has the claim, and later its
 * container, know the secret, too: only a container that has both may get the claim's GPUs.
 *
 * @param id 12 hexadecimal digits
 * @param secret 32 hexadecimal digits; empty for a claim that no container can name
 */
public record ClaimKey(String id, String secret) {
    private static final Pattern TEXT = Pattern.compile("([0-9a-f]{12})-([0-9a-f]{32})");
    private static final int ID_BYTES = 6;
    private static final int SECRET_BYTES = 16;

    /**
     * Returns the key of a new claim, whose id no other claim has.
     *
     * @param random whose numbers nobody else can know before: the secret is one
     */
    public static ClaimKey make(RandomGenerator random) {
        return new ClaimKey(digits(random, ID_BYTES), digits(random, SECRET_BYTES));
    }

    /** The key of a claim that no container can name. */
    public static ClaimKey secretless(String id) {
        return new ClaimKey(id, "");
    }

    /** Reads the {@link #text} of a key; empty when it is none. */
    public static Optional<ClaimKey> parse(String text) {
        Matcher key = TEXT.matcher(text);
        return key.matches()
                ? Optional.of(new ClaimKey(key.group(1), key.group(2)))
                : Optional.empty();
    }

    /** The id and the secret, for the client of the claim and for docker alone. */
    public String text() {
        return secret.isEmpty() ? id : id + "-" + secret;
    }

    /** The id, since logs and messages are not secret. */
    @Override
    public String toString() {
        return id;
    }

    private static String digits(RandomGenerator random, int bytes) {
        byte[] digits = new byte[bytes];
        random.nextBytes(digits);
        return HexFormat.of().formatHex(digits);
    }
}
