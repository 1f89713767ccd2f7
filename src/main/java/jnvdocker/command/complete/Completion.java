package jnvdocker.command.complete;

import jnvdocker.command.caller.OwnCommands;
import jnvdocker.docker.cli.DockerCommandLine;
import jnvdocker.docker.cli.WordPlace;
import jnvdocker.protocol.ClientConnection;
import jnvdocker.protocol.ClientRequest;
import jnvdocker.protocol.ExitCode;
import jnvdocker.screen.Screen;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import picocli.CommandLine;

import java.io.IOException;
import java.util.List;
import java.util.Map;

/**
 * {@code jnvdocker gpu __complete -- WORDS…}: answers the completion of a shell, in which these
 * words are typed behind {@code jnvdocker}, the last of them unfinished.
 */
public final class Completion {
    public static final String WORD = "__complete";

    private static final Logger LOG = LoggerFactory.getLogger(Completion.class);

    private final Values values;
    private final Map<String, OwnCommands> groups;
    private final Map<String, String> options;

    /**
     * @param groups by their names, in the order of the answer
     * @param options what docker's run and create get from us, by name, with descriptions
     */
    public Completion(
            Visible visible, Map<String, OwnCommands> groups, Map<String, String> options) {
        this.values = new Values(visible);
        this.groups = groups;
        this.options = options;
    }

    /**
     * @param arguments the arguments after {@code gpu}
     */
    public void run(List<String> arguments, ClientRequest request, ClientConnection client)
            throws IOException {
        String text = answer(arguments.subList(2, arguments.size()), request, client);
        if (!text.isEmpty()) {
            client.print(Screen.of(request).readable(text));
        }
        client.exit(ExitCode.OK);
    }

    /** Whether these arguments after {@code gpu} request a completion. */
    public static boolean isRequested(List<String> arguments) {
        return arguments.size() > 2
                && arguments.get(0).equals(WORD)
                && arguments.get(1).equals("--");
    }

    String answer(List<String> words, ClientRequest request, ClientConnection client) {
        String typed = words.getLast();
        Answer answer = new Answer(typed);
        try {
            complete(words.subList(0, words.size() - 1), typed, answer, request, client);
        } catch (IOException e) {
            LOG.debug("cannot complete {}", words, e);
        }
        return answer.text();
    }

    private void complete(
            List<String> before,
            String typed,
            Answer answer,
            ClientRequest request,
            ClientConnection client)
            throws IOException {
        List<String> words = DockerCommandLine.words(before);
        if (words.isEmpty()) {
            groups.forEach((name, group) ->
                    answer.add(
                            name,
                            CommandWords.description(
                                    group.commands(request, client)
                                            .getCommandSpec()
                                            .usageMessage()
                                            .description())));
            answer.way(Answer.DOCKER);
        } else if (groups.containsKey(words.getFirst())) {
            CommandLine group = groups.get(words.getFirst()).commands(request, client);
            CommandWords command = new CommandWords(group.getCommandSpec(), values);
            int first = before.size() - words.size() + 1;
            if (command.read(words.subList(1, words.size()), first + 1)) {
                command.complete(typed, answer);
            }
        } else {
            container(WordPlace.behind(before), typed, answer);
        }
    }

    /** The options of docker's run and create. */
    private void container(WordPlace place, String typed, Answer answer) throws IOException {
        String ofGpus = "--" + WordPlace.GPUS + "=";
        switch (place) {
            case WordPlace.Value(String option) when option.equals(WordPlace.GPUS) ->
                    values.add(Values.GPUS, typed, "", List.of(), answer);
            case WordPlace.Option _ when typed.startsWith(ofGpus) ->
                    values.add(
                            Values.GPUS,
                            typed.substring(ofGpus.length()),
                            ofGpus,
                            List.of(),
                            answer);
            case WordPlace.Option _ when typed.startsWith("-") -> {
                options.forEach((name, text) -> answer.add(name, CommandWords.description(text)));
                answer.way(Answer.DOCKER);
            }
            default -> answer.way(Answer.DOCKER);
        }
    }
}
