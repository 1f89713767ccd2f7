package jnvdocker.command.gpu;

import jnvdocker.protocol.ClientConnection;
import jnvdocker.screen.Json;
import jnvdocker.screen.Screen;
import jnvdocker.screen.WatchScreen;
import jnvdocker.words.Quote;
import jnvdocker.words.Span;

import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParseResult;
import picocli.CommandLine.TypeConversionException;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.LocalTime;
import java.time.ZoneId;
import java.time.format.DateTimeFormatter;
import java.util.List;
import java.util.regex.Pattern;

/** {@code --watch}: repeats a command every few seconds. */
final class Watch {
    private static final String OPTION = "--watch";
    private static final Pattern SECONDS = Pattern.compile("[0-9]+");
    private static final Pattern TYPED = Pattern.compile(" " + OPTION + "([= ][0-9][0-9wdhms]*)?");
    private static final Span.Limits LIMITS =
            new Span.Limits(Duration.ofSeconds(1), Duration.ofHours(1));
    private static final DateTimeFormatter TIME = DateTimeFormatter.ofPattern("HH:mm:ss");

    @Option(
            names = OPTION,
            arity = "0..1",
            paramLabel = "DURATION",
            fallbackValue = "2s",
            converter = Interval.class,
            description =
                    "Repeat every 1s to 1h (${FALLBACK-VALUE}) until Ctrl-C; a plain number is in"
                            + " seconds.")
    private Duration interval;

    static final class Interval implements ITypeConverter<Duration> {
        /** Accepts a number of seconds as well, like {@code watch -n}. */
        @Override
        public Duration convert(String value) {
            String span = SECONDS.matcher(value).matches() ? value + "s" : value;
            try {
                return Span.parse(span, LIMITS);
            } catch (IllegalArgumentException e) {
                throw new TypeConversionException(e.getMessage());
            }
        }
    }

    /**
     * Whether a command line requests a watch.
     *
     * @param typed a command line that was parsed
     */
    static boolean isAsked(ParseResult typed) {
        return typed.hasSubcommand()
                && typed.subcommand().hasMatchedOption(OPTION)
                && !typed.subcommand().isUsageHelpRequested();
    }

    /**
     * One round of a watch. The client asks again after a while, so that a watch follows a resized
     * terminal and a restarted daemon, and the daemon keeps no state.
     *
     * @param words the words after {@code jnvdocker gpu}
     * @param typed the same, parsed
     */
    record Round(List<String> words, ParseResult typed, Screen screen) {
        void show(String text, ClientConnection client) throws IOException {
            Duration interval = typed.subcommand().matchedOptionValue(OPTION, null);
            if (typed.subcommand().matchedOptionValue("--json", false)) {
                client.out(text);
            } else if (screen.isTerminal()) {
                String title = title(interval, hostName(), LocalTime.now(ZoneId.systemDefault()));
                client.print(new WatchScreen(title, text.lines().toList(), screen).text());
            } else {
                client.out(text + "\n");
            }
            client.again(interval);
        }

        private String title(Duration interval, String host, LocalTime now) {
            return "every "
                    + Span.spelled(interval)
                    + ": jnvdocker gpu "
                    + Quote.shown(TYPED.matcher(String.join(" ", words)).replaceAll(""))
                    + "   "
                    + Quote.shown(host)
                    + ", "
                    + TIME.format(now);
        }

        private static String hostName() throws IOException {
            return Files.readString(Path.of("/proc/sys/kernel/hostname")).strip();
        }
    }

    /** Whether this command's command line requests a watch. */
    boolean isAsked() {
        return interval != null;
    }

    /** Formats a document, on one line if others follow. */
    String json(Object document) {
        return interval == null ? Json.text(document) : Json.line(document);
    }
}
