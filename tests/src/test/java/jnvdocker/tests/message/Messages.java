package jnvdocker.tests.message;

import com.sun.source.tree.ExpressionTree;
import com.sun.source.tree.IdentifierTree;
import com.sun.source.tree.NewClassTree;
import com.sun.source.tree.Tree;
import com.sun.source.util.JavacTask;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

import javax.tools.ToolProvider;

/**
 * The messages of a program, taken from its sources; {@code …} stands for values known only at run
 * time.
 */
final class Messages {
    /** The maximum number of constants, methods and callers through which a message is followed. */
    private static final int DEPTH = 9;

    private static final String REFUSAL = "Refusal";
    private static final Pattern SAID =
            Pattern.compile("(Refusal(?=\\.of)|LOG(?=\\.(warn|error)))\\.\\w+");

    private static final String C_STRING = "\"((?:[^\"\\\\]|\\\\.)*)\"";
    private static final Pattern C_PART = Pattern.compile(C_STRING + "|([A-Z_]+)");
    private static final Pattern C_MACRO =
            Pattern.compile("(?m)^#define ([A-Z_]+) (?:\\\\\n\\s*)?" + C_STRING + "$");
    private static final Pattern SAID_IN_C =
            Pattern.compile(
                    "\\b(?:die\\(|failed\\(|refuse\\(&call,)((?:\\s*(?:\"(?:[^\"\\\\]|\\\\.)*\"|[A-Z_]+\\b))+)");

    /**
     * A message, and its recipient: the simple name of an exception, {@code Refusal}, {@code LOG},
     * {@code die}.
     *
     * @param refusal whether users see it unchanged, with its remedy
     */
    record Message(String to, String file, String text, boolean refusal) {
        @Override
        public String toString() {
            return file + ", " + to + ": " + text;
        }
    }

    private Messages() {}

    /** The arguments of exceptions and refusals, and of warnings and errors in the log. */
    static List<Message> ofJava(List<Path> sources) throws IOException {
        var compiler = ToolProvider.getSystemJavaCompiler();
        List<SourceFile> all = new ArrayList<>();
        List<String> names = new ArrayList<>();
        try (var manager = compiler.getStandardFileManager(null, null, null)) {
            var task =
                    (JavacTask)
                            compiler.getTask(
                                    null,
                                    manager,
                                    null,
                                    List.of("-proc:none"),
                                    null,
                                    manager.getJavaFileObjectsFromPaths(
                                            sources.stream()
                                                    // Its messages are the kernel's.
                                                    .filter(it -> !it.endsWith("FileErrors.java"))
                                                    .toList()));
            for (var unit : task.parse()) {
                all.add(new SourceFile(unit));
                names.add(Path.of(unit.getSourceFile().getName()).getFileName().toString());
            }
        }
        Map<String, SourceFile> byClass = new HashMap<>();
        all.forEach(file -> file.classes().forEach((name, _) -> byClass.put(name, file)));
        List<Message> found = new ArrayList<>();
        for (int i = 0; i < all.size(); i++) {
            String name = names.get(i);
            SourceFile file = all.get(i);
            for (var made : file.made()) {
                String to = simpleName(made.tree().getIdentifier().toString());
                if (to.endsWith("Exception") || to.equals(REFUSAL)) {
                    boolean refusal = isRefusal(to, byClass);
                    given(made.tree(), new Wording(byClass, file, made.method()))
                            .forEach(text -> found.add(new Message(to, name, text, refusal)));
                }
            }
            for (var call : file.calls()) {
                Matcher said = SAID.matcher(call.tree().getMethodSelect().toString());
                if (said.matches()) {
                    String to = said.group(1);
                    boolean refusal = to.equals(REFUSAL);
                    new Wording(byClass, file, call.method())
                            .of(call.tree().getArguments().getFirst(), DEPTH).stream()
                                    .map(text -> text.replace("{}", Wording.VALUE))
                                    .forEach(text ->
                                            found.add(new Message(to, name, text, refusal)));
                }
            }
        }
        return found;
    }

    /**
     * The arguments of {@code die}, and of {@code failed} for a later end: adjacent strings and
     * macros that stand for strings.
     */
    static List<Message> ofC(Path source) throws IOException {
        String code = Files.readString(source);
        Map<String, String> macros = new HashMap<>();
        Matcher macro = C_MACRO.matcher(code);
        while (macro.find()) {
            macros.put(macro.group(1), macro.group(2));
        }
        List<Message> found = new ArrayList<>();
        Matcher said = SAID_IN_C.matcher(code);
        while (said.find()) {
            StringBuilder text = new StringBuilder();
            Matcher part = C_PART.matcher(said.group(1));
            while (part.find()) {
                text.append(
                        part.group(1) != null
                                ? part.group(1)
                                : macros.getOrDefault(part.group(2), Wording.VALUE));
            }
            found.add(
                    new Message(
                            "die",
                            source.getFileName().toString(),
                            text.toString().replaceAll("%[-0-9.*]*(zu|ld|[sdu])", Wording.VALUE),
                            true));
        }
        return found;
    }

    /** Whether it is a refusal, or an exception that has one. */
    private static boolean isRefusal(String name, Map<String, SourceFile> byClass) {
        if (name.equals(REFUSAL) || name.equals("Refused")) {
            return true;
        }
        SourceFile file = byClass.get(name);
        return file != null
                && file.classes().get(name).stream().anyMatch(it -> isRefusal(it, byClass));
    }

    /** Two texts of one exception are the fault and the remedy. */
    private static Set<String> given(NewClassTree made, Wording wording) {
        Set<String> texts = new LinkedHashSet<>();
        for (ExpressionTree argument : made.getArguments()) {
            if (!isCause(argument)) {
                Set<String> more = wording.of(argument, DEPTH);
                texts =
                        texts.isEmpty()
                                ? more
                                : Wording.joined(Wording.joined(texts, Set.of("; ")), more);
            }
        }
        return texts;
    }

    private static boolean isCause(ExpressionTree argument) {
        return argument.getKind() == Tree.Kind.NULL_LITERAL
                || argument instanceof IdentifierTree name
                        && name.getName().toString().matches("e|cause");
    }

    private static String simpleName(String name) {
        return name.substring(name.lastIndexOf('.') + 1);
    }
}
