package jnvdocker.command.gpu.view;

import jnvdocker.command.caller.CommandOutcome;
import jnvdocker.command.caller.SpanOption;
import jnvdocker.host.HostName;
import jnvdocker.protocol.ClientConnection;
import jnvdocker.screen.Screen;
import jnvdocker.screen.WatchScreen;
import jnvdocker.words.LocalZone;
import jnvdocker.words.Quote;
import jnvdocker.words.Span;

import picocli.CommandLine.Option;

import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.time.format.DateTimeFormatter;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;

/** {@code --watch}: repeats a command every few seconds. */
public final class Watch {
    /** The command that is repeated without the option. */
    public static final String TOP = "top";

    /** Its other name. */
    public static final String USAGE = "usage";

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

    public static final class Interval extends SpanOption {
        Interval() {
            super(LIMITS);
        }

        /** Accepts a number of seconds as well, like {@code watch -n}. */
        @Override
        public Duration convert(String value) {
            return super.convert(SECONDS.matcher(value).matches() ? value + "s" : value);
        }
    }

    /**
     * Whether a command line may request a watch, before it is parsed: its output is then kept
     * until it is complete.
     */
    public static boolean mayBeRequested(List<String> words) {
        return words.stream()
                .anyMatch(it -> it.startsWith(OPTION) || it.equals(TOP) || it.equals(USAGE));
    }

    /**
     * One round of a watch. The client repeats its request after a while, so that a watch follows a
     * resized terminal and a restarted daemon, and the daemon keeps no state.
     *
     * @param words the words after {@code jnvdocker gpu}
     */
    public record Round(List<String> words, CommandOutcome.Again again, Screen screen) {
        public void show(String text, ClientConnection client) throws IOException {
            if (again.json()) {
                client.out(text);
            } else if (screen.isTerminal()) {
                String title = title(HostName.read(), Instant.now());
                client.print(new WatchScreen(title, text.lines().toList(), screen).text());
            } else {
                client.out(text + "\n");
            }
        }

        private String title(String host, Instant now) {
            return "every %s: jnvdocker gpu %s   %s, %s"
                    .formatted(
                            Span.spelled(again.interval()),
                            Quote.shown(TYPED.matcher(String.join(" ", words)).replaceAll("")),
                            Quote.shown(host),
                            LocalZone.current().shown(TIME, now));
        }
    }

    /** Returns the interval at which this command is to be repeated; empty when it is not. */
    public Optional<Duration> interval() {
        return Optional.ofNullable(interval);
    }
}
