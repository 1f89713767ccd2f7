package jnvdocker.use;

import jnvdocker.words.RefusedException;

import java.math.BigInteger;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The character devices that a rule of the device cgroup lets a container open, with any of runc
 * and crun, on cgroups of either version. What they do with unusual rules differs, so a rule counts
 * for the most that one of them makes of it. {@code native/oci/need.c} decides the same; both are
 * tested with {@code tests/fixtures/device-rules}.
 *
 * @param major or {@link #ANY}
 * @param minor or {@link #ANY}
 */
public record DeviceRule(int major, int minor) {
    public static final int ANY = -1;

    /** Every device. */
    public static final DeviceRule ALL = new DeviceRule(ANY, ANY);

    /** Numbers that no device has: crun cuts off their upper bits, and opens another device. */
    public static final DeviceRule IMPOSSIBLE = new DeviceRule(-2, -2);

    private static final Pattern TEXT =
            Pattern.compile("a|([abc])\\s+(\\*|[0-9]+):(\\*|[0-9]+)\\s+([rwm]+)");

    /** A number for {@link #of} that means {@link #ANY}. */
    public static final BigInteger NO_NUMBER = BigInteger.valueOf(ANY);

    private static final int MAJOR_BITS = 12;
    private static final int MINOR_BITS = 20;

    /**
     * Reads a rule as docker takes it: {@code c 195:2 rw}. Empty for what docker refuses, and for a
     * rule that opens no character device.
     */
    public static Optional<DeviceRule> parse(String text) {
        Matcher matcher = TEXT.matcher(text.strip());
        if (!matcher.matches()) {
            return Optional.empty();
        }
        return matcher.group(1) == null
                ? Optional.of(ALL)
                : of(
                        matcher.group(1),
                        number(matcher.group(2)),
                        number(matcher.group(3)),
                        matcher.group(4));
    }

    private static BigInteger number(String text) {
        return text.equals("*") ? NO_NUMBER : new BigInteger(text);
    }

    /**
     * The devices of a rule that allows. Empty if it opens no character device.
     *
     * @param type {@code b} and {@code p} are no character devices, {@code c} and {@code u} are;
     *     anything else, also nothing, means {@code a}: to runc and to cgroups of version 1, the
     *     numbers and rights of such a rule mean nothing
     * @param major -1 for any
     * @param minor -1 for any
     * @param access empty for everything
     */
    public static Optional<DeviceRule> of(
            String type, BigInteger major, BigInteger minor, String access) {
        if (!isPossible(major, minor)) {
            return Optional.of(IMPOSSIBLE);
        }
        return switch (type) {
            case "b", "p" -> Optional.empty();
            case "c", "u" -> ofCharacters(major.intValue(), minor.intValue(), access);
            default -> Optional.of(ALL);
        };
    }

    private static Optional<DeviceRule> ofCharacters(int major, int minor, String access) {
        boolean opens = access.isEmpty() || access.contains("r") || access.contains("w");
        // No device has the major number 0, which means any to crun with systemd.
        return opens
                ? Optional.of(new DeviceRule(major == 0 ? ANY : major, minor))
                : Optional.empty();
    }

    /** Whether a device can have these numbers; -1 is any. */
    public static boolean isPossible(BigInteger major, BigInteger minor) {
        return hasBits(major, MAJOR_BITS) && hasBits(minor, MINOR_BITS);
    }

    private static boolean hasBits(BigInteger number, int bits) {
        return number.signum() < 0 ? number.equals(NO_NUMBER) : number.bitLength() <= bits;
    }

    /**
     * @param shown the rule or device, for the refusal
     */
    public static RefusedException impossible(String shown) {
        return new RefusedException(
                "%s has a number that no device has (major numbers end at %s, minor numbers at %s)"
                        .formatted(shown, (1 << MAJOR_BITS) - 1, (1 << MINOR_BITS) - 1),
                "give the numbers that 'ls -l' shows for the device");
    }

    /** Whether it opens devices of every driver. */
    public boolean isOfAnyMajor() {
        return major < 0;
    }

    /** Whether a device may be opened by it. */
    public boolean covers(int itsMajor, int itsMinor) {
        return (major < 0 || major == itsMajor) && (minor < 0 || minor == itsMinor);
    }
}
