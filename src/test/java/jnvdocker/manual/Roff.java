package jnvdocker.manual;

import java.util.List;
import java.util.Locale;
import java.util.regex.Pattern;

/** A man page as it grows: the requests of man(7). */
final class Roff {
    private static final Pattern CONTROL = Pattern.compile("(?m)^([.'])");

    private final StringBuilder page = new StringBuilder();

    /**
     * @param section of the manual: 1, 5 or 8
     */
    Roff(String title, int section, String version) {
        request(
                "TH",
                title.toUpperCase(Locale.ROOT),
                String.valueOf(section),
                "",
                "jnvdocker " + version,
                "jnvdocker");
        // Left-aligned, and no word is broken: options and paths must be found by a search.
        page.append(".ad l\n.nh\n");
    }

    Roff heading(String text) {
        request("SH", text);
        return this;
    }

    Roff subheading(String text) {
        request("SS", text);
        return this;
    }

    Roff paragraph(String escaped) {
        page.append(".PP\n");
        return line(escaped);
    }

    /** A term and what it means, which is indented. */
    Roff item(String escapedTerm, String escapedMeaning) {
        page.append(".TP\n");
        line(escapedTerm);
        return line(escapedMeaning.isEmpty() ? "\\&" : escapedMeaning);
    }

    Roff lineBreak() {
        page.append(".br\n");
        return this;
    }

    Roff bullet(String escaped) {
        page.append(".IP \\(bu 2\n");
        return line(escaped);
    }

    /** Lines as they are, indented. */
    Roff literal(List<String> lines) {
        page.append(".PP\n.RS 4\n.nf\n");
        lines.forEach(each -> line(each.isEmpty() ? "\\&" : escape(each)));
        page.append(".fi\n.RE\n");
        return this;
    }

    /** Text whose backslashes are already escaped; a line may not begin as a request does. */
    Roff line(String escaped) {
        page.append(CONTROL.matcher(escaped).replaceAll("\\\\&$1")).append('\n');
        return this;
    }

    private void request(String name, String... arguments) {
        page.append('.').append(name);
        for (String argument : arguments) {
            page.append(" \"").append(escape(argument).replace("\"", "\\(dq")).append('"');
        }
        page.append('\n');
    }

    static String bold(String escaped) {
        return "\\fB" + escaped + "\\fR";
    }

    static String italic(String escaped) {
        return "\\fI" + escaped + "\\fR";
    }

    /** A minus sign is printed as one, and not as a hyphen: it is typed, and searched for. */
    static String escape(String text) {
        StringBuilder escaped = new StringBuilder();
        text.codePoints()
                .forEach(point -> {
                    switch (point) {
                        case '\\' -> escaped.append("\\e");
                        case '-' -> escaped.append("\\-");
                        case '\'' -> escaped.append("\\(aq");
                        case '`' -> escaped.append("\\(ga");
                        case '^' -> escaped.append("\\(ha");
                        case '~' -> escaped.append("\\(ti");
                        default -> {
                            if (point < 128) {
                                escaped.appendCodePoint(point);
                            } else {
                                escaped.append("\\[u%04X]".formatted(point));
                            }
                        }
                    }
                });
        return escaped.toString();
    }

    @Override
    public String toString() {
        return page.toString();
    }
}
