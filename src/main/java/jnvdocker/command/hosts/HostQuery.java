package jnvdocker.command.hosts;

import jnvdocker.command.caller.SpanOption;
import jnvdocker.host.HostName;
import jnvdocker.protocol.CallResult;
import jnvdocker.protocol.ClientConnection;
import jnvdocker.words.FailedException;
import jnvdocker.words.RefusedException;
import jnvdocker.words.Span;

import picocli.CommandLine.Option;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Supplier;
import java.util.regex.Pattern;

/** The option {@code --on}, and the same command run on each of the hosts that it names. */
public final class HostQuery {
    /** The hosts that one command may query: each costs its user a process, and us memory. */
    private static final int MOST_HOSTS = 64;

    /** The bytes that all hosts together may send: a client sends no more in one answer. */
    private static final int MOST_BYTES = 6 << 20;

    private static final int MOST_OF_A_HOST = 1 << 20;
    private static final int PARTS = 3;
    private static final double MILLIS = 1000.0;
    private static final String ALL = "all";

    /** A host as ssh takes it; none is an option. */
    private static final Pattern HOST = Pattern.compile("[\\w@%:.\\[\\]][\\w@%:.\\[\\]-]*");

    private static final String SCRIPT = script();

    private final ClientConnection client;
    private final Supplier<List<String>> configured;

    @Option(
            names = "--on",
            split = ",",
            paramLabel = "HOST",
            description = {
                "Query these hosts by ssh, as the caller, instead of this one: names as ssh takes"
                        + " them, or all for those of the key hosts of the configuration.",
                "Each host needs jnvdocker and the caller's key: nothing asks for a password."
            })
    private List<String> hosts = List.of();

    @Option(
            names = "--patience",
            paramLabel = "DURATION",
            defaultValue = "5s",
            converter = Patience.class,
            description = "How long to wait for a host (${DEFAULT-VALUE}).")
    private Duration patience;

    static final class Patience extends SpanOption {
        Patience() {
            super(new Span.Limits(Duration.ofSeconds(1), Duration.ofMinutes(1)));
        }
    }

    /**
     * @param client runs ssh
     * @param configured the hosts of the configuration
     */
    public HostQuery(ClientConnection client, Supplier<List<String>> configured) {
        this.client = client;
        this.configured = configured;
    }

    private static String script() {
        try (InputStream file = HostQuery.class.getResourceAsStream("query.sh")) {
            return new String(file.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new IllegalStateException("query.sh is beside this class", e);
        }
    }

    /** Whether other hosts are to be queried. */
    public boolean isRequested() {
        return !hosts.isEmpty();
    }

    /** Whether a text can be a host's name for ssh, and nothing else. */
    public static boolean isHost(String text) {
        return HOST.matcher(text).matches();
    }

    /**
     * Runs a command on each host, at the same time. A host that cannot be reached, or does not
     * answer in time, is among the answers.
     *
     * @param command for a shell; prints a list or an object in JSON
     * @return the answers in the order in which the hosts were named
     * @throws RefusedException when no host is named, or one cannot be a host
     */
    public List<HostAnswer> run(String command) throws RefusedException, IOException {
        List<String> named = named(hosts, configured.get());
        List<String> call =
                new ArrayList<>(
                        List.of(
                                "sh",
                                "-c",
                                SCRIPT,
                                "sh",
                                HostName.read(),
                                Double.toString(patience.toMillis() / MILLIS),
                                Integer.toString(
                                        Math.min(MOST_OF_A_HOST, MOST_BYTES / named.size())),
                                command));
        call.addAll(named);
        CallResult result = client.capture(call);
        String[] parts = result.output().split("\0", -1);
        if (parts.length != PARTS * named.size() + 1) {
            throw new FailedException(
                    "the hosts could not be queried (exit code " + result.exitCode() + ")",
                    "see the message above, and try again");
        }
        List<HostAnswer> answers = new ArrayList<>();
        for (int i = 0; i < named.size(); i++) {
            int at = PARTS * i;
            answers.add(
                    HostAnswer.read(
                            named.get(i), parts[at], parts[at + 1], parts[at + 2], patience));
        }
        return answers;
    }

    /**
     * The hosts of {@code --on}, each once.
     *
     * @param configured that {@code all} means
     * @throws RefusedException when there is none, or one cannot be a host
     */
    public static List<String> named(List<String> hosts, List<String> configured)
            throws RefusedException {
        Set<String> named = new LinkedHashSet<>();
        for (String host : hosts) {
            if (host.equals(ALL)) {
                named.addAll(configured);
            } else if (isHost(host)) {
                named.add(host);
            } else {
                throw new RefusedException(
                        "--on: '" + host + "' is not the name of a host",
                        "write names as ssh takes them, with commas between them");
            }
        }
        if (named.isEmpty()) {
            throw new RefusedException(
                    "--on all: the configuration names no hosts",
                    "name them ('--on lab1,lab2'), or set the key hosts");
        }
        if (named.size() > MOST_HOSTS) {
            throw new RefusedException(
                    "--on names " + named.size() + " hosts, and at most " + MOST_HOSTS + " can be",
                    "query some of them at a time");
        }
        return List.copyOf(named);
    }
}
