package jnvdocker.tests.message;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.tests.message.Messages.Message;
import jnvdocker.tests.world.Project;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.function.Predicate;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Checks the wording of every message in the sources: one sentence that says what failed, with
 * which value, then what to do. The type of a refusal guarantees that it has both parts.
 */
class MessageFormTest {
    /** Programming errors rather than a user's, which end in the log. */
    private static final Set<String> BUGS =
            Set.of("IllegalStateException", "UncheckedIOException", "FileSystemLoopException");

    /** A remedy is a command, an action, or a list of choices. */
    private static final Pattern REMEDY =
            Pattern.compile(
                    "([;:,(]|\\bor|\\band) (first"
                        + " )?(add|ask|begin|build|check|choose|cordon|create|delete|docker|end|fix|free|give|have|install|jnvdocker|keep|leave|let|load|log"
                        + " in|look|make|mend|mount"
                        + "|move|name|pull|put|reboot|reload|remove|request|restart|run|save|say|see|send|set"
                        + "|shorten|spell|start|stop|sudo|systemctl|take|try|type|unpack|use|wait|write)\\b|'jnvdocker"
                        + " [a-z -]+' (says|shows|makes)|(say|says) why\\b|; …$|\\b(as in|not one"
                        + " of|known are|knows|there are|this host has|those that do|none does|no"
                        + " claim does|are supported)\\b");

    private static final Pattern BEGINNING =
            Pattern.compile(
                    "[a-z0-9…'-].*|[A-Z]+(_[A-Z]+)*["
                            + " =].*|(GPUs?|Mesos)\\b.*|(JNVDOCKER|NV)_[A-Z_]+.*");
    private static final Pattern CODE =
            Pattern.compile("\\b[a-z]+\\.[a-z]+\\.[A-Z]|[a-z]Exception\\b|\\bnull\\b|@[0-9a-f]{6}");

    @TempDir Path folder;

    @Test
    void everyMessageIsOneSentence() throws IOException {
        assertAll(
                message -> !BUGS.contains(message.to()),
                message -> !message.text().matches("(?s).*[\\p{Cntrl}].*"),
                "has a line's end or another control character");
        assertAll(
                message -> !BUGS.contains(message.to()) && !message.text().isEmpty(),
                message -> BEGINNING.matcher(message.text()).matches(),
                "begins like a sentence of its own, and follows 'jnvdocker: '");
        assertAll(
                _ -> true,
                message -> !message.text().matches(".*[.!;:,\\s]"),
                "ends with a full stop, or in the middle");
        assertAll(_ -> true, message -> message.text().length() < 400, "is too long to be read");
    }

    @Test
    void noMessageTalksAboutTheProgramsInside() throws IOException {
        assertAll(
                message -> !BUGS.contains(message.to()),
                message -> !CODE.matcher(message.text()).find(),
                "shows a class, a null or an object");
    }

    @Test
    void everyRefusalSaysWhatToDo() throws IOException {
        assertAll(
                message -> message.refusal() && !isPassedOn(message.text()),
                message -> REMEDY.matcher(message.text()).find(),
                "does not say what to do");
    }

    /**
     * The walk finds messages put together in several places, and detects the violation of each
     * rule.
     */
    @Test
    void badMessagesAreSeen() throws IOException {
        Path source = folder.resolve("Sample.java");
        Files.writeString(
                source,
                """
                class Sample {
                    static final String END = "use %s";
                    void one(int count, boolean some) throws RefusedException {
                        String what = some ? "some" : "all";
                        throw new RefusedException(what + " of " + count, rest(count));
                    }
                    String rest(int count) { return (END).formatted(Other.NAME); }
                    void two() { refuse("It broke.\\n"); }
                    void refuse(String why) { throw new StartException(Refusal.of(why), null); }
                    void three(Object e) { LOG.warn("{} is java.lang.Object", e); }
                }
                class Other { static final String NAME = "another"; }
                class RefusedException extends Exception implements Refused {}
                class StartException extends RefusedException {}
                """);
        List<Message> messages = Messages.ofJava(List.of(source));
        List<String> refusals =
                List.of("some of …; use another", "all of …; use another", "…", "It broke.\n");
        assertEquals(
                refusals, messages.stream().filter(Message::refusal).map(Message::text).toList());
        assertEquals(
                List.of("… is java.lang.Object"),
                messages.stream()
                        .filter(message -> !message.refusal())
                        .map(Message::text)
                        .toList());
        assertTrue(CODE.matcher("… is java.lang.Object").find());
        assertTrue(REMEDY.matcher("all of …; use another").find());
        assertTrue(!REMEDY.matcher("the engine is stopped").find());
    }

    /** Whether the text comes from elsewhere, or was checked as another message of ours. */
    private static boolean isPassedOn(String text) {
        return text.contains(Wording.VALUE) && text.split(" ").length < 3;
    }

    private static void assertAll(
            Predicate<Message> which, Predicate<Message> rule, String complaint)
            throws IOException {
        List<Message> asked = all().stream().filter(which).toList();
        assertTrue(asked.size() > 100, "messages that were found: " + asked.size());
        assertEquals(
                "",
                asked.stream()
                        .filter(rule.negate())
                        .map(message -> message + "\n    " + complaint)
                        .distinct()
                        .collect(Collectors.joining("\n")));
    }

    private static List<Message> all() throws IOException {
        List<Path> java = sources("java");
        List<Message> messages = new ArrayList<>(Messages.ofJava(java));
        for (Path c : sources("c")) {
            messages.addAll(Messages.ofC(c));
        }
        return messages;
    }

    private static List<Path> sources(String language) throws IOException {
        try (Stream<Path> files = Files.walk(Project.root())) {
            return files.filter(file ->
                            Project.root()
                                    .relativize(file)
                                    .toString()
                                    .matches(
                                            language.equals("java")
                                                    ? "([a-z-]+/)?src/main/java/.*\\.java"
                                                    : "native/[a-z]+/[^/]*\\.c"))
                    .sorted()
                    .toList();
        }
    }
}
