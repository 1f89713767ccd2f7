package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.tngtech.archunit.core.domain.JavaClass;

import jnvdocker.tests.world.Project;

import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.io.InputStream;
import java.lang.classfile.ClassFile;
import java.lang.classfile.CodeElement;
import java.lang.classfile.Instruction;
import java.lang.classfile.Label;
import java.lang.classfile.MethodModel;
import java.lang.classfile.instruction.InvokeDynamicInstruction;
import java.lang.classfile.instruction.LabelTarget;
import java.lang.classfile.instruction.LookupSwitchInstruction;
import java.lang.classfile.instruction.NewObjectInstruction;
import java.lang.classfile.instruction.TableSwitchInstruction;
import java.lang.constant.ClassDesc;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * Code that depends on a claim's origin or a lease's holder reads a property of {@code Origin},
 * where all kinds are side by side, or handles each kind explicitly, so javac names all of these
 * places when a kind is added. A test for a single kind, or a default, would silently ignore the
 * new one; only the class of a kind itself may test for it alone.
 */
class KindByKindTest {
    private static final Pattern ONE_KIND =
            Pattern.compile("(instanceof (Origin|Holder)\\b|[!=]= Origin\\.Kind\\.[A-Z]+\\b).*");

    private static final Pattern BY_KIND =
            Pattern.compile("switch \\([^;{]*origin\\(\\)\\.kind\\(\\)\\) \\{");
    private static final Pattern KIND =
            Pattern.compile("Ljnvdocker/lease/(Origin|Holder)(\\$\\w+)?;");

    private static List<Path> sources() throws IOException {
        List<Path> all = new ArrayList<>();
        for (String module : List.of("runtime", ".")) {
            Path sources = Project.source(module).resolve("src/main/java").normalize();
            try (Stream<Path> files = Files.walk(sources)) {
                files.filter(Files::isRegularFile).forEach(all::add);
            }
        }
        return all;
    }

    @Test
    void nobodyAsksForOneKindAlone() throws IOException {
        Set<String> wrong = new TreeSet<>();
        for (Path file : sources()) {
            if (!file.toString().endsWith("Kind.java")) {
                Matcher one = ONE_KIND.matcher(Files.readString(file));
                while (one.find()) {
                    wrong.add(file.getFileName() + ": " + one.group());
                }
            }
        }
        assertEquals(Set.of(), wrong);
    }

    @Test
    void noSwitchByTheNameOfAKindHasADefault() throws IOException {
        Set<String> wrong = new TreeSet<>();
        int switches = 0;
        for (Path file : sources()) {
            String text = Files.readString(file);
            Matcher begin = BY_KIND.matcher(text);
            while (begin.find()) {
                switches++;
                int end = begin.end();
                for (int open = 1; open > 0; end++) {
                    open += text.charAt(end) == '{' ? 1 : text.charAt(end) == '}' ? -1 : 0;
                }
                if (text.substring(begin.end(), end).contains("default ->")) {
                    wrong.add(file.getFileName() + ": " + begin.group());
                }
            }
        }
        assertTrue(switches > 5, "only " + switches);
        assertEquals(Set.of(), wrong);
    }

    @Test
    void noSwitchHasADefault() throws IOException {
        Set<String> wrong = new TreeSet<>();
        int switches = 0;
        for (JavaClass each : ArchitectureTest.OURS) {
            for (MethodModel method : ClassFile.of().parse(bytes(each)).methods()) {
                List<CodeElement> code =
                        method.code().map(it -> it.elementList()).orElse(List.of());
                for (int i = 0; i < code.size(); i++) {
                    if (isByKind(code.get(i))) {
                        switches++;
                        if (hasDefault(code, i + 1)) {
                            wrong.add(each.getName() + "#" + method.methodName());
                        }
                    }
                }
            }
        }
        assertTrue(switches > 5, "only " + switches);
        assertEquals(Set.of(), wrong);
    }

    private static byte[] bytes(JavaClass each) throws IOException {
        try (InputStream in = each.getSource().orElseThrow().getUri().toURL().openStream()) {
            return in.readAllBytes();
        }
    }

    /** Recognizes javac's code for a switch by type; its arguments are the types. */
    private static boolean isByKind(CodeElement element) {
        return element instanceof InvokeDynamicInstruction call
                && call.name().equalsString("typeSwitch")
                && call.bootstrapArgs().stream()
                        .anyMatch(it ->
                                it instanceof ClassDesc type
                                        && KIND.matcher(type.descriptorString()).matches());
    }

    /** Without a default, javac makes the switch throw for an unknown kind. */
    private static boolean hasDefault(List<CodeElement> code, int at) {
        Label otherwise =
                switch (code.get(at)) {
                    case LookupSwitchInstruction lookup -> lookup.defaultTarget();
                    case TableSwitchInstruction table -> table.defaultTarget();
                    default -> throw new AssertionError(code.get(at));
                };
        Instruction first =
                code.stream()
                        .dropWhile(it ->
                                !(it instanceof LabelTarget to && to.label().equals(otherwise)))
                        .filter(Instruction.class::isInstance)
                        .map(Instruction.class::cast)
                        .findFirst()
                        .orElseThrow();
        return !(first instanceof NewObjectInstruction made
                && made.className().asInternalName().equals("java/lang/MatchException"));
    }
}
