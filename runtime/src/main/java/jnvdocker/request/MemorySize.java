package jnvdocker.request;

import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * An amount of a GPU's memory, as it is typed: {@code 40G}. G and GB are 10⁹ bytes, as in the names
 * of models, an 80GB one of which has 79.6 GiB; GiB and Gi are 2³⁰.
 *
 * @param number 1 to 999999
 * @param unit {@code M}, {@code G}, {@code MiB} or {@code GiB}
 */
public record MemorySize(int number, String unit) {
    private static final Pattern FORM = Pattern.compile("([0-9]{1,6})([MG])(i?B?)");
    private static final int MOST = 999_999;
    private static final Map<String, Long> UNITS =
            Map.of("M", 1_000_000L, "G", 1_000_000_000L, "MiB", 1L << 20, "GiB", 1L << 30);

    public MemorySize {
        if (number < 1 || number > MOST || !UNITS.containsKey(unit)) {
            throw new IllegalArgumentException("not an amount of memory: " + number + unit);
        }
    }

    /** Empty when the text is no such amount. */
    public static Optional<MemorySize> parse(String text) {
        Matcher form = FORM.matcher(text.toUpperCase(Locale.ROOT).replace('I', 'i'));
        if (!form.matches() || Integer.parseInt(form.group(1)) == 0) {
            return Optional.empty();
        }
        String binary = form.group(3).startsWith("i") ? "iB" : "";
        return Optional.of(new MemorySize(Integer.parseInt(form.group(1)), form.group(2) + binary));
    }

    /** Exactly so many bytes, in the largest unit; empty when they are no such amount. */
    public static Optional<MemorySize> of(long bytes) {
        return UNITS.entrySet().stream()
                .filter(unit -> bytes > 0 && bytes % unit.getValue() == 0)
                .filter(unit -> bytes / unit.getValue() <= MOST)
                .max(Map.Entry.comparingByValue())
                .map(unit -> new MemorySize((int) (bytes / unit.getValue()), unit.getKey()));
    }

    /** {@code 10G}, or {@code 42.4G}: rounded down to 0.1 of 10⁹ bytes. */
    public static String rounded(long bytes) {
        long tenths = bytes / (UNITS.get("G") / 10);
        return tenths / 10 + (tenths % 10 == 0 ? "" : "." + tenths % 10) + "G";
    }

    public long bytes() {
        return number * UNITS.get(unit);
    }

    /** {@code 40 GB}. */
    public String words() {
        return number + " " + (unit.endsWith("B") ? unit : unit + "B");
    }

    @Override
    public String toString() {
        return number + unit;
    }
}
