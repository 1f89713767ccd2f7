package jnvdocker.use;

import java.math.BigInteger;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A rule of the device cgroup that lets a container read or write character devices, as docker
 * takes it: {@code c 195:2 rw}, {@code c *:* rwm}, {@code a *:* rwm}.
 *
 * @param major or {@link #ANY}
 * @param minor or {@link #ANY}
 */
public record DeviceRule(int major, int minor) {
    public static final int ANY = -1;

    /** To runc, the numbers behind an a mean nothing. */
    private static final Pattern TEXT =
            Pattern.compile("a|([ac])\\s+(\\*|[0-9]+):(\\*|[0-9]+)\\s+([rwm]+)");

    /** Majors have 12 bits and minors 20; what has more is no device's. */
    private static final int MOST_BITS = 20;

    /** Empty for what docker refuses, and for a rule that lets nothing be opened. */
    public static Optional<DeviceRule> parse(String text) {
        Matcher matcher = TEXT.matcher(text.strip());
        if (!matcher.matches()) {
            return Optional.empty();
        }
        String rights = matcher.group(4);
        if (rights != null && rights.chars().allMatch(right -> right == 'm')) {
            return Optional.empty();
        }
        if (rights == null || matcher.group(1).equals("a")) {
            return Optional.of(new DeviceRule(ANY, ANY));
        }
        Optional<Integer> major = number(matcher.group(2));
        Optional<Integer> minor = number(matcher.group(3));
        return major.flatMap(it -> minor.map(other -> new DeviceRule(it, other)));
    }

    private static Optional<Integer> number(String text) {
        if (text.equals("*")) {
            return Optional.of(ANY);
        }
        BigInteger number = new BigInteger(text);
        return number.bitLength() > MOST_BITS ? Optional.empty() : Optional.of(number.intValue());
    }

    /** Whether it is about every driver's devices. */
    public boolean isOfAnyMajor() {
        return major == ANY;
    }

    /** Whether a device may be opened by it. */
    public boolean covers(int itsMajor, int itsMinor) {
        return (major == ANY || major == itsMajor) && (minor == ANY || minor == itsMinor);
    }
}
