package jnvdocker.docker.cli;

import jnvdocker.request.InvalidGpuRequestException;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/** One command line of the golden file: the typed words and the expected result. */
record GoldenLine(String typed, List<String> expected) {
    private static final Pattern WORD = Pattern.compile("\\s*((?:[^\\s']|'[^']*')+)");
    private static final Pattern PLAIN = Pattern.compile("[^\\s'\"\\\\]+");

    /** The options of a future docker. */
    private static final String HELP =
            """
            Options:
                  --maybe string[="x"]    May have a value
                  --mount-later string    Has one
                  --shiny                 Has none, and is explained at
                                          --length
              -Y, --yotta int             Has a letter
            """;

    static GoldenLine of(String line) {
        List<String> columns = List.of(line.split(" *\\| ?", -1));
        return new GoldenLine(columns.get(0), columns.subList(1, columns.size()));
    }

    /** The columns after the first, as they are now. */
    List<String> actual() throws Exception {
        try {
            return switch (DockerCommandLine.parse(words(typed), verb -> HELP)) {
                case DockerCommandLine.NotOurs _ -> List.of("not ours");
                case DockerCommandLine.LeaveToDocker(List<String> argv)
                        when argv.equals(words(typed)) ->
                        List.of("left to docker");
                case DockerCommandLine.LeaveToDocker(List<String> argv) ->
                        List.of("left to docker", text(argv));
                case DockerCommandLine.Help(List<String> argv) when argv.equals(words(typed)) ->
                        List.of("help");
                case DockerCommandLine.Help(List<String> argv) -> List.of("help", text(argv));
                case RunCommand run ->
                        List.of(run.image(), extracted(run), text(run.with(List.of("+X"))));
            };
        } catch (InvalidGpuRequestException e) {
            return List.of("refused", e.getMessage());
        }
    }

    static List<String> words(String line) {
        List<String> words = new ArrayList<>();
        Matcher word = WORD.matcher(line);
        while (word.lookingAt()) {
            words.add(word.group(1).replace("'", "").translateEscapes());
            word.region(word.end(), line.length());
        }
        return words;
    }

    private static String text(List<String> words) {
        return words.stream().map(GoldenLine::quoted).collect(Collectors.joining(" "));
    }

    private static String quoted(String word) {
        return PLAIN.matcher(word).matches() ? word : "'" + word.replace("\n", "\\n") + "'";
    }

    private static String extracted(RunCommand run) {
        List<String> found = new ArrayList<>();
        if (run.verb() == Verb.CREATE) {
            found.add("create");
        }
        if (!run.globals().isEmpty()) {
            found.add("globals=" + run.globals());
        }
        add(found, "host", run.host());
        add(found, "context", run.context());
        add(found, "config", run.config());
        add(found, "platform", run.platform());
        add(found, "pull", run.pull());
        add(found, "runtime", run.runtime());
        if (run.quiet()) {
            found.add("quiet");
        }
        if (run.privileged()) {
            found.add("privileged");
        }
        add(found, "gpus", run.gpus());
        add(found, "nodes", run.gpuNodes());
        add(found, "cdi", run.cdiDevices());
        add(found, "env", run.env());
        add(found, "files", run.envFiles());
        add(found, "mounts", run.mountTargets());
        return String.join(" ", found).replace("\n", "\\n");
    }

    private static void add(List<String> found, String what, Optional<?> value) {
        value.ifPresent(v -> found.add(what + "=" + v));
    }

    private static void add(List<String> found, String what, List<?> values) {
        if (!values.isEmpty()) {
            found.add(what + "=" + values);
        }
    }
}
