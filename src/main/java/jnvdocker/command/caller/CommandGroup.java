package jnvdocker.command.caller;

import jnvdocker.protocol.ClientConnection;
import jnvdocker.protocol.ClientRequest;
import jnvdocker.protocol.ExitCode;
import jnvdocker.words.Quote;
import jnvdocker.words.Typo;

import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Help.Ansi;
import picocli.CommandLine.MissingParameterException;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.ScopeType;
import picocli.CommandLine.Spec;
import picocli.CommandLine.UnmatchedArgumentException;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.Collections;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The common part of the groups of our own commands ({@link OwnCommands}). */
public final class CommandGroup {
    private static final String STOP = "'docker stop CONTAINER', or 'jnvdocker gpu cancel JOB'";
    private static final String WAIT = "'jnvdocker run --gpu-wait', or queue";

    private static final String AGAIN = "'docker rm CONTAINER', then 'jnvdocker run'";

    /**
     * Words of similar programs and of commands that were retired, and what does the same here,
     * beside {@link #SHOWING}; an option with the name of its command.
     */
    private static final Map<String, String> OF_OTHERS =
            Map.ofEntries(
                    Map.entry("drain", "cordon"),
                    Map.entry("history --chart", "page"),
                    Map.entry("info", "ls"),
                    Map.entry("kill", STOP),
                    Map.entry("log", "history"),
                    Map.entry("logs", "history"),
                    Map.entry("remake", AGAIN),
                    Map.entry("reserve", "book"),
                    Map.entry("stop", STOP),
                    Map.entry("topology", "ls --topology"),
                    Map.entry("undrain", "uncordon"),
                    Map.entry("users", "ls, or history"),
                    Map.entry("wait", WAIT));

    /** How picocli begins: {@code Invalid value for option '--limit': 'x' is not an int}. */
    private static final Pattern INVALID =
            Pattern.compile(
                    "^Invalid value for (?:option '([^']+)'(?: \\([^)]*\\))?|positional parameter"
                            + " at index \\S+ \\(([^)]+)\\)): ");

    /** Picocli's words, which are Java's. */
    private static final Pattern NO_NUMBER = Pattern.compile(" is not an? (?:int|long|double)$");

    private static final Pattern TOO_LARGE = Pattern.compile("('[+-]?[0-9]+')" + NO_NUMBER);

    /** A command that only the group of GPUs has. */
    private static final String SHOWING = "ls";

    /** Commands that are not to be typed by mistake. */
    private static final Set<String> DESTROYING = Set.of("prune", "release", "uninstall");

    private CommandGroup() {}

    /** The group's own command, which only lists its commands. */
    public abstract static class Root implements Runnable {
        @Spec private CommandSpec spec;

        @Option(
                names = {"-h", "--help"},
                usageHelp = true,
                scope = ScopeType.INHERIT,
                description = "Show this help.")
        @SuppressWarnings("UnusedVariable") // Only picocli reads it.
        private boolean help;

        @Override
        public final void run() {
            spec.commandLine().usage(spec.commandLine().getOut());
        }
    }

    /** Picocli's own command cannot be used beside a {@code --help} that commands inherit. */
    @Command(name = "help", description = "Show this help, or that of a command.")
    private static final class Help implements Runnable {
        @Spec private CommandSpec spec;

        @Parameters(arity = "0..1", paramLabel = "COMMAND", description = "A command.")
        private String name;

        @Override
        public void run() {
            CommandLine group = spec.commandLine().getParent();
            CommandLine shown = name == null ? group : group.getSubcommands().get(name);
            if (shown == null) {
                throw new UnmatchedArgumentException(group, List.of(name));
            }
            shown.usage(spec.commandLine().getOut());
        }
    }

    /** Configures the messages of a group and of all its commands. */
    public static CommandLine of(CommandLine group, ClientRequest request) {
        int columns = request.columns();
        group.addSubcommand(new Help());
        // Otherwise any user of the socket could read any file of root's.
        return group.setExpandAtFiles(false)
                .setColorScheme(CommandLine.Help.defaultColorScheme(Ansi.OFF))
                .setHelpFactory(WholeWords::new)
                .setUsageHelpWidth(columns == 0 ? 100 : Math.clamp(columns, 60, 200))
                .setParameterExceptionHandler(CommandGroup::usage)
                .setExecutionExceptionHandler(CommandGroup::refuse);
    }

    /**
     * Runs a command of a group, which writes to the writers of the group.
     *
     * @param group as made by {@link #of}
     */
    public static CommandOutcome run(CommandLine group, List<String> arguments) {
        int code = group.execute(arguments.toArray(String[]::new));
        if (code != ExitCode.OK.code()) {
            return new CommandOutcome.Exit(ExitCode.of(code));
        }
        CommandLine.ParseResult typed = group.getParseResult().subcommand();
        // Help has none.
        return typed != null
                        && typed.commandSpec().commandLine().getExecutionResult()
                                instanceof CommandOutcome outcome
                ? outcome
                : CommandOutcome.OK;
    }

    /**
     * Runs a command of a group whose commands only end, and sends its output to the client.
     *
     * @param group as made by {@link #of}
     */
    public static void execute(CommandLine group, List<String> arguments, ClientConnection client)
            throws IOException {
        StringWriter out = new StringWriter();
        StringWriter err = new StringWriter();
        group.setOut(new PrintWriter(out, true)).setErr(new PrintWriter(err, true));
        CommandOutcome.Exit end = (CommandOutcome.Exit) run(group, arguments);
        if (!err.toString().isEmpty()) {
            client.err(err.toString().stripTrailing());
        }
        if (!out.toString().isEmpty()) {
            client.out(out.toString().stripTrailing());
        }
        client.exit(end.code());
    }

    private static int usage(ParameterException e, String[] arguments) {
        CommandLine command = e.getCommandLine();
        String what;
        try {
            what = what(e);
        } catch (RuntimeException failed) {
            return refuse(failed, command, null);
        }
        command.getErr()
                .println(
                        "jnvdocker: %s; see '%s --help'"
                                .formatted(what, command.getCommandSpec().qualifiedName()));
        return ExitCode.USAGE.code();
    }

    private static String what(ParameterException e) {
        return switch (e) {
            case UnmatchedArgumentException unmatched -> unmatched(unmatched);
            case MissingParameterException missing
                    when missing.getMissing().getFirst().isPositional() ->
                    "missing argument: " + missing.getMissing().getFirst().paramLabel();
            default -> plain(e.getMessage());
        };
    }

    /** {@code --limit: 'x' is not a whole number}. */
    static String plain(String message) {
        Matcher invalid = INVALID.matcher(message);
        if (!invalid.find()) {
            return message;
        }
        String argument = Objects.requireNonNullElse(invalid.group(1), invalid.group(2));
        String why = message.substring(invalid.end());
        why = TOO_LARGE.matcher(why).replaceFirst("$1 is too large a number");
        return argument + ": " + NO_NUMBER.matcher(why).replaceFirst(" is not a whole number");
    }

    /** Returns {@code no such command: sl (did you mean ls?)}. */
    private static String unmatched(UnmatchedArgumentException e) {
        String word = e.getUnmatched().getFirst();
        String what =
                e.isUnknownOption()
                        ? "unknown option: "
                        : e.getCommandLine().getSubcommands().isEmpty()
                                ? "unexpected argument: "
                                : "no such command: ";
        Map<String, CommandLine> commands = e.getCommandLine().getSubcommands();
        Set<String> names = new LinkedHashSet<>(commands.keySet());
        names.removeIf(name -> !commands.get(name).getCommandName().equals(name));
        // Picocli compares pairs of letters: of those of lss, refusals has one as well as ls.
        List<String> nearest = Typo.of(word, names);
        Set<String> meant = new LinkedHashSet<>(nearest.isEmpty() ? e.getSuggestions() : nearest);
        String known = commands.isEmpty() ? e.getCommandLine().getCommandName() + " " + word : word;
        if ((commands.isEmpty() || names.contains(SHOWING)) && OF_OTHERS.containsKey(known)) {
            meant.clear();
            meant.add(OF_OTHERS.get(known));
        }
        meant.removeIf(name -> commands.containsKey(name) && !names.contains(name));
        // No harmless command is suggested instead: it may be the opposite.
        if (!Collections.disjoint(meant, DESTROYING)) {
            meant.clear();
        }
        String similar = String.join(" or ", meant);
        return what
                + (word.isBlank() ? Quote.quoted(word) : Quote.shown(word))
                + (similar.isEmpty() ? "" : " (did you mean " + similar + "?)");
    }

    /** What is thrown here, picocli prints with its stack trace. */
    private static int refuse(Exception e, CommandLine command, CommandLine.ParseResult parsed) {
        command.getErr().println("jnvdocker: " + UnforeseenFailure.message(e));
        return ExitCode.REFUSED.code();
    }
}
