package jnvdocker.tests.message;

import com.sun.source.tree.BinaryTree;
import com.sun.source.tree.ConditionalExpressionTree;
import com.sun.source.tree.ExpressionTree;
import com.sun.source.tree.IdentifierTree;
import com.sun.source.tree.LiteralTree;
import com.sun.source.tree.MemberSelectTree;
import com.sun.source.tree.MethodInvocationTree;
import com.sun.source.tree.MethodTree;
import com.sun.source.tree.ParenthesizedTree;
import com.sun.source.tree.SwitchExpressionTree;
import com.sun.source.tree.Tree;

import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;

/**
 * The possible texts of an expression. Constants, local variables, methods that return a string and
 * a method's arguments are looked up in its file, and in other classes by their names; {@link
 * #VALUE} stands for values known only at run time. Each branch of a condition is a text of its
 * own.
 *
 * @param files by the simple names of the classes in them
 */
record Wording(Map<String, SourceFile> files, SourceFile file, Optional<MethodTree> method) {
    static final String VALUE = "…";

    /** The maximum number of texts of one expression. */
    private static final int MANY = 200;

    private static final Set<String> OPEN = Set.of(VALUE);

    Set<String> of(ExpressionTree expression, int depth) {
        if (depth == 0) {
            return OPEN;
        }
        return switch (expression) {
            case LiteralTree literal when literal.getValue() != null ->
                    Set.of(literal.getValue().toString());
            case ParenthesizedTree inner -> of(inner.getExpression(), depth);
            case BinaryTree sum when sum.getKind() == Tree.Kind.PLUS ->
                    joined(of(sum.getLeftOperand(), depth), of(sum.getRightOperand(), depth));
            case ConditionalExpressionTree either ->
                    united(
                            List.of(either.getTrueExpression(), either.getFalseExpression()),
                            branch -> of(branch, depth));
            case SwitchExpressionTree choice ->
                    united(
                            choice.getCases(),
                            each ->
                                    each.getBody() instanceof ExpressionTree text
                                            ? of(text, depth)
                                            : OPEN);
            case MethodInvocationTree call -> ofCall(call, depth);
            case IdentifierTree name -> ofName(name.getName().toString(), depth);
            case MemberSelectTree name -> ofField(name, depth);
            default -> OPEN;
        };
    }

    private Set<String> ofCall(MethodInvocationTree call, int depth) {
        return switch (call.getMethodSelect()) {
            case MemberSelectTree of when of.getIdentifier().contentEquals("formatted") ->
                    united(
                            of(of.getExpression(), depth),
                            format -> formatted(format, call.getArguments(), depth));
            case MemberSelectTree of when files.containsKey(of.getExpression().toString()) ->
                    ofMethod(
                            files.get(of.getExpression().toString()),
                            of.getIdentifier().toString(),
                            call,
                            depth);
            case IdentifierTree name -> ofMethod(file, name.getName().toString(), call, depth);
            default -> OPEN;
        };
    }

    private Set<String> ofMethod(
            SourceFile where, String name, MethodInvocationTree call, int depth) {
        return orOpen(
                united(
                        where.texts(name, call.getArguments().size()),
                        each ->
                                united(
                                        where.results(each),
                                        text -> in(where, each).of(text, depth - 1))));
    }

    private Set<String> formatted(
            String format, List<? extends ExpressionTree> arguments, int depth) {
        String[] parts = format.split("%[-,.0-9]*[sdxcof]", -1);
        Set<String> texts = Set.of(parts[0]);
        for (int i = 1; i < parts.length; i++) {
            Set<String> value = i <= arguments.size() ? of(arguments.get(i - 1), depth) : OPEN;
            texts = joined(joined(texts, value), Set.of(parts[i]));
        }
        return texts;
    }

    private Set<String> ofName(String name, int depth) {
        int parameter = method.map(it -> parameters(it).indexOf(name)).orElse(-1);
        if (parameter >= 0) {
            return ofParameter(method.orElseThrow(), parameter, depth - 1);
        }
        List<ExpressionTree> values = method.map(it -> file.variable(it, name)).orElse(List.of());
        if (values.isEmpty()) {
            values = file.field(name).stream().toList();
        }
        return orOpen(united(values, value -> of(value, depth - 1)));
    }

    /** The arguments that the file's other methods pass to this one. */
    private Set<String> ofParameter(MethodTree called, int parameter, int depth) {
        return orOpen(
                united(
                        file.calls(),
                        call ->
                                calls(call, called)
                                        ? new Wording(files, file, call.method())
                                                .of(
                                                        call.tree().getArguments().get(parameter),
                                                        depth)
                                        : Set.of()));
    }

    private boolean calls(SourceFile.Located<MethodInvocationTree> call, MethodTree called) {
        return call.tree().getMethodSelect() instanceof IdentifierTree name
                && name.getName().equals(called.getName())
                && call.tree().getArguments().size() == called.getParameters().size()
                && !call.method().equals(Optional.of(called));
    }

    private Set<String> ofField(MemberSelectTree name, int depth) {
        SourceFile owner = files.get(name.getExpression().toString());
        return owner == null
                ? OPEN
                : owner.field(name.getIdentifier().toString())
                        .map(value ->
                                new Wording(files, owner, Optional.empty()).of(value, depth - 1))
                        .orElse(OPEN);
    }

    private Wording in(SourceFile where, MethodTree which) {
        return new Wording(files, where, Optional.of(which));
    }

    private static List<String> parameters(MethodTree method) {
        return method.getParameters().stream().map(each -> each.getName().toString()).toList();
    }

    private static Set<String> orOpen(Set<String> texts) {
        return texts.isEmpty() ? OPEN : texts;
    }

    private static <T> Set<String> united(
            Iterable<? extends T> parts, Function<T, Set<String>> texts) {
        Set<String> all = new LinkedHashSet<>();
        parts.forEach(part -> all.addAll(texts.apply(part)));
        return all;
    }

    static Set<String> joined(Set<String> heads, Set<String> tails) {
        Set<String> all = new LinkedHashSet<>();
        for (String head : heads) {
            for (String tail : tails) {
                if (all.size() < MANY) {
                    all.add(head + tail);
                }
            }
        }
        return all;
    }
}
