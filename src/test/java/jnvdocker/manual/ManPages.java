package jnvdocker.manual;

import jnvdocker.command.CommandGroups;
import jnvdocker.command.start.RunHelp;

import org.apache.commons.compress.compressors.gzip.GzipCompressorOutputStream;
import org.apache.commons.compress.compressors.gzip.GzipParameters;

import picocli.CommandLine;
import picocli.CommandLine.Help.Ansi;
import picocli.CommandLine.Model.ArgSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.Model.PositionalParamSpec;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import java.util.zip.Deflater;

/**
 * Writes the man pages: those of commands from the specifications by which these are parsed, the
 * others from the manual.
 */
public final class ManPages {
    private static final int SYNOPSIS = 72;

    private final Path manual;
    private final String version;

    /**
     * @param manual the directory of the manual's pages
     */
    public ManPages(Path manual, String version) {
        this.manual = manual;
        this.version = version;
    }

    /**
     * @param args the manual's directory, the version, and the directory that gets man1, man5, man8
     */
    public static void main(String[] args) throws IOException {
        Path target = Path.of(args[2]);
        for (Map.Entry<String, String> page :
                new ManPages(Path.of(args[0]), args[1]).all().entrySet()) {
            String name = page.getKey();
            Path directory = target.resolve("man" + name.substring(name.length() - 1));
            Files.createDirectories(directory);
            try (OutputStream out = gzip(directory.resolve(name + ".gz"))) {
                out.write(page.getValue().getBytes(StandardCharsets.US_ASCII));
            }
        }
    }

    /** As small as it gets, as Debian's policy has it, and without a time. */
    private static OutputStream gzip(Path file) throws IOException {
        GzipParameters smallest = new GzipParameters();
        smallest.setCompressionLevel(Deflater.BEST_COMPRESSION);
        return new GzipCompressorOutputStream(Files.newOutputStream(file), smallest);
    }

    /** Our own commands by their groups' names. */
    static Map<String, CommandLine> groups() {
        Map<String, CommandLine> groups = new TreeMap<>();
        CommandGroups.ALL.forEach(
                (name, group) -> groups.put(name, group.commands(CommandGroups.REQUEST, null)));
        return groups;
    }

    /** The commands of a group that people type. */
    static List<CommandLine> commands(CommandLine group) {
        return group.getSubcommands().values().stream()
                .filter(each -> !each.getCommandSpec().usageMessage().hidden())
                .distinct()
                .toList();
    }

    /** All pages, by name and section: {@code jnvdocker-gpu-why.1}. */
    public Map<String, String> all() throws IOException {
        Map<String, String> pages = new TreeMap<>();
        pages.put("jnvdocker.1", overview());
        pages.put("jnvdocker.toml.5", configuration());
        pages.put("jnvdockerd.8", daemon());
        for (Map.Entry<String, CommandLine> group : groups().entrySet()) {
            String name = "jnvdocker-" + group.getKey();
            pages.put(name + ".1", group(name, group.getValue()));
            if (group.getKey().equals("gpu")) {
                for (CommandLine command : commands(group.getValue())) {
                    String page = name + "-" + command.getCommandName();
                    pages.put(page + ".1", command(page, command));
                }
            }
        }
        return pages;
    }

    private ManualSection section(String page, String heading) throws IOException {
        return ManualSection.of(manual.resolve(page), heading);
    }

    private Roff page(String name, int section, String purpose) {
        return new Roff(name, section, version)
                .heading("NAME")
                .line(Roff.escape(name) + " \\- " + Roff.escape(purpose))
                .heading("SYNOPSIS");
    }

    private String overview() throws IOException {
        Roff roff = page("jnvdocker", 1, "docker, with GPUs that each belong to one container");
        for (String words :
                List.of(
                        "run|create [OPTIONS] IMAGE [COMMAND] [ARG...]",
                        "gpu|k8s|mesos|runtime COMMAND",
                        "COMMAND")) {
            roff.paragraph(Roff.bold("jnvdocker") + " " + Roff.escape(words));
        }
        roff.heading("DESCRIPTION")
                .line("Runs docker.")
                .line(Roff.bold("run") + " and " + Roff.bold("create"))
                .line(
                        "first reserve GPUs for the container, as its image or its user requests,"
                                + " check")
                .line("that this host's driver is new enough, and add the devices and the driver's")
                .line("files. All other commands are passed to docker.");
        roff.heading("OPTIONS").literal(RunHelp.TEXT.strip().lines().toList());
        roff.heading("COMMANDS");
        groups().forEach((name, group) -> {
            for (CommandLine command : commands(group)) {
                roff.item(
                        Roff.bold(Roff.escape(name + " " + command.getCommandName())),
                        Roff.escape(first(command)));
            }
        });
        roff.heading("ENVIRONMENT");
        section("configuration.md", "Variables").appendTo(roff);
        roff.heading("FILES");
        section("configuration.md", "Paths").appendTo(roff);
        roff.heading("EXIT STATUS");
        section("configuration.md", "Exit codes").appendTo(roff);
        Stream<String> others = groups().keySet().stream().map(name -> "jnvdocker-" + name + "(1)");
        return seeAlso(
                roff, Stream.concat(others, Stream.of("jnvdocker.toml(5)", "jnvdockerd(8)")));
    }

    private String configuration() throws IOException {
        Roff roff = page("jnvdocker.toml", 5, "configuration of jnvdocker");
        roff.line(Roff.bold("/etc/jnvdocker/config.toml")).heading("DESCRIPTION");
        section("configuration.md", "Keys").appendTo(roff);
        roff.heading("DURATIONS");
        section("configuration.md", "Durations").appendTo(roff);
        return seeAlso(roff, Stream.of("jnvdocker(1)", "jnvdockerd(8)"));
    }

    private String daemon() throws IOException {
        Roff roff = page("jnvdockerd", 8, "the daemon that gives out GPUs");
        roff.line(
                        Roff.bold("jnvdockerd")
                                + " ["
                                + Roff.bold("\\-\\-make\\-nodes")
                                + "|"
                                + Roff.bold("\\-\\-proxy")
                                + "|"
                                + Roff.bold("\\-\\-version")
                                + "]")
                .heading("DESCRIPTION")
                .line("Keeps the registry of GPU holders, and serves docker's volume plugin.")
                .line("Without an option it runs until it is ended by a signal.")
                .heading("OPTIONS")
                .item(
                        Roff.bold("\\-\\-make\\-nodes"),
                        "Load the driver, make its device nodes, and exit.")
                .item(
                        Roff.bold("\\-\\-proxy"),
                        "Serve Docker's API on a socket of its own, and label containers with"
                                + " their user.")
                .item(
                        Roff.bold("\\-v") + ", " + Roff.bold("\\-\\-version"),
                        "Print the version, and exit.")
                .heading("SYSTEMD");
        section("upkeep.md", "systemd").appendTo(roff);
        roff.heading("SIGNALS")
                .item("SIGHUP", "Read the configuration again.")
                .item("SIGTERM, SIGINT", "End. Containers, leases and waiting clients stay.");
        roff.heading("ENVIRONMENT");
        section("configuration.md", "Variables").appendTo(roff);
        roff.heading("FILES");
        section("configuration.md", "Paths").appendTo(roff);
        roff.heading("EXIT STATUS")
                .item("0", "It was stopped, or its option's work is done.")
                .item("2", "There is no such option.")
                .item("125", "It could not start; standard error says why, and what to do.");
        return seeAlso(roff, Stream.of("jnvdocker(1)", "jnvdocker.toml(5)"));
    }

    private String group(String name, CommandLine group) throws IOException {
        Roff roff = page(name, 1, sentence(first(group)));
        roff.line(synopsis(group)).heading("DESCRIPTION");
        describe(roff, group);
        roff.heading("OPTIONS");
        arguments(roff, group);
        roff.heading("COMMANDS");
        boolean ownPages = name.endsWith("-gpu");
        for (CommandLine command : commands(group)) {
            if (ownPages) {
                roff.item(
                        Roff.bold(Roff.escape(command.getCommandName())),
                        Roff.escape(first(command)));
            } else {
                roff.subheading(command.getCommandName()).line(synopsis(command));
                describe(roff, command);
                arguments(roff, command);
            }
        }
        exitStatus(roff, name.replace("jnvdocker-", "") + " ");
        Stream<String> own =
                commands(group).stream().map(each -> name + "-" + each.getCommandName() + "(1)");
        return seeAlso(
                roff, Stream.concat(Stream.of("jnvdocker(1)"), ownPages ? own : Stream.of()));
    }

    private String command(String name, CommandLine command) throws IOException {
        Roff roff = page(name, 1, sentence(first(command)));
        roff.line(synopsis(command)).heading("DESCRIPTION");
        describe(roff, command);
        roff.heading("OPTIONS");
        arguments(roff, command);
        exitStatus(roff, "gpu " + command.getCommandName());
        return seeAlso(roff, Stream.of("jnvdocker(1)", "jnvdocker-gpu(1)"));
    }

    private static void describe(Roff roff, CommandLine command) {
        for (String text : command.getCommandSpec().usageMessage().description()) {
            roff.paragraph(Roff.escape(text));
        }
    }

    private static void arguments(Roff roff, CommandLine command) {
        for (PositionalParamSpec each : command.getCommandSpec().positionalParameters()) {
            roff.item(Roff.italic(Roff.escape(each.paramLabel())), text(each));
        }
        for (OptionSpec each : command.getCommandSpec().options()) {
            String names =
                    Stream.of(each.names())
                            .map(name -> Roff.bold(Roff.escape(name)))
                            .collect(Collectors.joining(", "));
            boolean optional = each.arity().min() == 0;
            String value = "=" + Roff.italic(Roff.escape(each.paramLabel()));
            String label = each.arity().max() == 0 ? "" : optional ? "[" + value + "]" : value;
            roff.item(names + label, text(each));
        }
    }

    /** The rows about all commands, and those that name these. */
    private void exitStatus(Roff roff, String words) throws IOException {
        roff.heading("EXIT STATUS").item("0", "Success.");
        Pattern named = Pattern.compile("\\\\fB(gpu|k8s|mesos|runtime) ");
        for (List<String> row : section("configuration.md", "Exit codes").rows()) {
            List<String> parts = new ArrayList<>();
            boolean concerned = true;
            for (String part : row.getLast().split("; ")) {
                if (named.matcher(part).find()) {
                    concerned = part.contains(Roff.escape(words));
                }
                if (concerned) {
                    parts.add(part);
                }
            }
            if (!row.getFirst().startsWith("docker") && !parts.isEmpty()) {
                roff.item(row.getFirst(), String.join("; ", parts));
            }
        }
    }

    private static String seeAlso(Roff roff, Stream<String> pages) {
        roff.heading("SEE ALSO")
                .line(pages.map(Roff::escape).map(Roff::bold).collect(Collectors.joining(", ")));
        return roff.toString();
    }

    private static String synopsis(CommandLine command) {
        String text =
                command.setUsageHelpWidth(SYNOPSIS)
                        .setColorScheme(CommandLine.Help.defaultColorScheme(Ansi.OFF))
                        .getHelp()
                        .synopsis(0);
        return Roff.escape(text.strip().replaceAll("\\s+", " "));
    }

    private static String first(CommandLine command) {
        return command.getCommandSpec().usageMessage().description()[0];
    }

    private static String text(ArgSpec argument) {
        return Roff.escape(String.join(" ", argument.description()));
    }

    /** The first sentence, as it stands behind a name. */
    private static String sentence(String text) {
        String first = text.split("(?<=[.:]) ", 2)[0].replaceFirst("[.:]$", "");
        List<String> words = new ArrayList<>(List.of(first.split(" ")));
        words.set(0, words.getFirst().toLowerCase(Locale.ROOT));
        return String.join(" ", words);
    }
}
