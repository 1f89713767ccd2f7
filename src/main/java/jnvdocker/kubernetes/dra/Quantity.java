package jnvdocker.kubernetes.dra;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Bytes as Kubernetes writes them in objects: {@code 80Gi}, {@code 10G}, {@code 1500}. */
final class Quantity {
    private static final List<String> BINARY = List.of("", "Ki", "Mi", "Gi", "Ti");
    private static final List<String> DECIMAL = List.of("", "k", "M", "G", "T");
    private static final Pattern FORM =
            Pattern.compile("([0-9]{1,19}(?:[.][0-9]{1,9})?)([kMGT]|[KMGT]i|)");

    private Quantity() {}

    /** Whole bytes in the largest binary unit that needs no fraction. */
    static String of(long bytes) {
        long number = bytes;
        int unit = 0;
        while (number > 0 && number % 1024 == 0 && unit < BINARY.size() - 1) {
            number /= 1024;
            unit++;
        }
        return number + BINARY.get(unit);
    }

    /** How many bytes that is; empty for another form, and when they are not whole. */
    static Optional<Long> parse(String text) {
        Matcher form = FORM.matcher(text);
        if (!form.matches()) {
            return Optional.empty();
        }
        boolean decimal = DECIMAL.contains(form.group(2));
        int power = (decimal ? DECIMAL : BINARY).indexOf(form.group(2));
        BigInteger unit = BigInteger.valueOf(decimal ? 1000 : 1024).pow(power);
        try {
            BigDecimal bytes = new BigDecimal(form.group(1)).multiply(new BigDecimal(unit));
            return Optional.of(bytes.longValueExact());
        } catch (ArithmeticException e) {
            return Optional.empty();
        }
    }
}
