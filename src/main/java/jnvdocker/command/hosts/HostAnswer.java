package jnvdocker.command.hosts;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;

import jnvdocker.json.ForeignJson;
import jnvdocker.words.Quote;
import jnvdocker.words.Span;

import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The answer of a host.
 *
 * @param host its name, as the user has it
 * @param entries the elements of the list that its command has printed, or the one object; none if
 *     it failed
 * @param failure why there is neither, for people; empty otherwise
 */
public record HostAnswer(String host, List<JsonNode> entries, Optional<String> failure) {
    /** Of {@code timeout}: the command has not ended in time. */
    private static final int LATE = 124;

    /** The limit of one answer in bytes: a host with 16 GPUs in parts takes a tenth. */
    private static final int MOST = 1 << 20;

    private static final int LONGEST_NOTE = 1000;

    private static final Pattern BEGIN = Pattern.compile("(?m)^[\\[{]");

    private static final JsonMapper MAPPER = new JsonMapper();

    public HostAnswer {
        entries = List.copyOf(entries);
    }

    /**
     * Reads an answer. A command may fail and still print its document.
     *
     * @param code the exit code of its command, or of ssh
     * @param errors the end of what they have printed on standard error
     */
    static HostAnswer read(
            String host, String code, String output, String errors, Duration patience) {
        Optional<JsonNode> document = document(output);
        if (document.isPresent()) {
            JsonNode its = document.get();
            return new HostAnswer(
                    host,
                    its.isArray() ? its.valueStream().toList() : List.of(its),
                    Optional.empty());
        }
        String last = errors.lines().filter(line -> !line.isBlank()).reduce("", (_, it) -> it);
        String why;
        if (code.equals(Integer.toString(LATE))) {
            why = "no answer within " + Span.spelled(patience);
        } else if (!last.isEmpty()) {
            why = last.strip();
        } else if (!output.isBlank()) {
            why = "its answer is no JSON; its jnvdocker may be of another version";
        } else {
            why = "it ended with exit code " + code + " and no answer";
        }
        return new HostAnswer(host, List.of(), Optional.of(note(why)));
    }

    /** Returns a name in an answer: no host may control a reader's terminal. */
    public static Optional<String> name(JsonNode object, String key) {
        return text(object, key).map(Quote::shown);
    }

    /** Returns a sentence in an answer, on one line. */
    public static Optional<String> note(JsonNode object, String key) {
        return text(object, key).map(HostAnswer::note);
    }

    private static Optional<String> text(JsonNode object, String key) {
        JsonNode value = object.path(key);
        return value.isTextual() ? Optional.of(value.textValue()) : Optional.empty();
    }

    private static String note(String text) {
        String bounded = text.substring(0, Math.min(text.length(), LONGEST_NOTE));
        return Quote.lines(bounded).replace('\n', ' ');
    }

    /** Begins at the first line that can: a shell's own files may print something before. */
    private static Optional<JsonNode> document(String output) {
        Matcher begin = BEGIN.matcher(output);
        if (!begin.find()) {
            return Optional.empty();
        }
        String document = output.substring(begin.start());
        try {
            return Optional.ofNullable(ForeignJson.tree(MAPPER, document, MOST))
                    .filter(JsonNode::isContainerNode);
        } catch (IOException e) {
            return Optional.empty(); // Its errors say more.
        }
    }
}
