package jnvdocker.request;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * One line of comma-separated values, as docker reads the values of {@code --gpus} and {@code
 * --mount}: the first record that Go's encoding/csv finds, anything after it being ignored. A field
 * with a comma is put in double quotes as a whole, a quote inside it is doubled, and a quote
 * anywhere else is an error.
 */
public final class CsvLine {
    private final String text;
    private final List<String> fields = new ArrayList<>();
    private int at;

    private CsvLine(String text) {
        this.text = text;
    }

    /** The fields, at least one; empty where docker would refuse the text. */
    public static Optional<List<String>> parse(String text) {
        return new CsvLine(text.replace("\r\n", "\n")).read();
    }

    private Optional<List<String>> read() {
        while (at < text.length() && text.charAt(at) == '\n') {
            at++;
        }
        if (at == text.length()) {
            return Optional.empty();
        }
        do {
            boolean quoted = at < text.length() && text.charAt(at) == '"';
            if (!(quoted ? readQuoted() : readPlain())) {
                return Optional.empty();
            }
        } while (at < text.length() && text.charAt(at++) == ',');
        return Optional.of(List.copyOf(fields));
    }

    private boolean readPlain() {
        int start = at;
        while (!atEndOfField()) {
            at++;
        }
        String field = text.substring(start, at);
        fields.add(field);
        return field.indexOf('"') < 0;
    }

    private boolean readQuoted() {
        StringBuilder field = new StringBuilder();
        int from = at + 1;
        int quote = text.indexOf('"', from);
        while (quote >= 0 && text.startsWith("\"\"", quote)) {
            field.append(text, from, quote + 1);
            from = quote + 2;
            quote = text.indexOf('"', from);
        }
        if (quote < 0) {
            return false;
        }
        fields.add(field.append(text, from, quote).toString());
        at = quote + 1;
        return atEndOfField();
    }

    private boolean atEndOfField() {
        return at == text.length() || text.charAt(at) == ',' || text.charAt(at) == '\n';
    }
}
