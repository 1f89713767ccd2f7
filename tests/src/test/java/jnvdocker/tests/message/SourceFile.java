package jnvdocker.tests.message;

import com.sun.source.tree.ClassTree;
import com.sun.source.tree.CompilationUnitTree;
import com.sun.source.tree.ExpressionTree;
import com.sun.source.tree.LambdaExpressionTree;
import com.sun.source.tree.MethodInvocationTree;
import com.sun.source.tree.MethodTree;
import com.sun.source.tree.NewClassTree;
import com.sun.source.tree.ReturnTree;
import com.sun.source.tree.Tree;
import com.sun.source.tree.VariableTree;
import com.sun.source.util.TreePathScanner;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * The declarations, object creations and calls in one Java file, each with its enclosing method.
 */
final class SourceFile {
    /** An expression with its enclosing method. */
    record Located<T extends Tree>(T tree, Optional<MethodTree> method) {}

    private final Map<String, ExpressionTree> fields = new HashMap<>();
    private final Map<String, List<MethodTree>> methods = new HashMap<>();
    private final Map<MethodTree, Map<String, List<ExpressionTree>>> variables = new HashMap<>();
    private final Map<MethodTree, List<ExpressionTree>> results = new HashMap<>();
    private final List<Located<NewClassTree>> made = new ArrayList<>();
    private final List<Located<MethodInvocationTree>> calls = new ArrayList<>();
    private final Map<String, List<String>> classes = new HashMap<>();

    SourceFile(CompilationUnitTree unit) {
        new Index().scan(unit, null);
    }

    /** The simple names of the file's classes, each with those of its supertypes. */
    Map<String, List<String>> classes() {
        return classes;
    }

    List<Located<NewClassTree>> made() {
        return made;
    }

    List<Located<MethodInvocationTree>> calls() {
        return calls;
    }

    Optional<ExpressionTree> field(String name) {
        return Optional.ofNullable(fields.get(name));
    }

    /** The methods of that name and number of parameters that return a string. */
    List<MethodTree> texts(String name, int parameters) {
        return methods.getOrDefault(name, List.of()).stream()
                .filter(method -> method.getParameters().size() == parameters)
                .filter(method -> String.valueOf(method.getReturnType()).equals("String"))
                .toList();
    }

    List<ExpressionTree> results(MethodTree method) {
        return results.getOrDefault(method, List.of());
    }

    List<ExpressionTree> variable(MethodTree method, String name) {
        return variables.getOrDefault(method, Map.of()).getOrDefault(name, List.of());
    }

    private final class Index extends TreePathScanner<Void, Void> {
        @Override
        public Void visitClass(ClassTree type, Void nothing) {
            List<String> above = new ArrayList<>();
            if (type.getExtendsClause() != null) {
                above.add(type.getExtendsClause().toString());
            }
            type.getImplementsClause().forEach(each -> above.add(each.toString()));
            classes.put(type.getSimpleName().toString(), above);
            return super.visitClass(type, nothing);
        }

        @Override
        public Void visitMethod(MethodTree method, Void nothing) {
            methods.computeIfAbsent(method.getName().toString(), _ -> new ArrayList<>())
                    .add(method);
            return super.visitMethod(method, nothing);
        }

        @Override
        public Void visitVariable(VariableTree variable, Void nothing) {
            ExpressionTree value = variable.getInitializer();
            String name = variable.getName().toString();
            Optional<MethodTree> method = method();
            if (value != null && method.isPresent()) {
                variables
                        .computeIfAbsent(method.get(), _ -> new HashMap<>())
                        .computeIfAbsent(name, _ -> new ArrayList<>())
                        .add(value);
            } else if (value != null) {
                fields.put(name, value);
            }
            return super.visitVariable(variable, nothing);
        }

        @Override
        public Void visitReturn(ReturnTree end, Void nothing) {
            if (end.getExpression() != null && !isInLambda()) {
                method().ifPresent(method ->
                        results.computeIfAbsent(method, _ -> new ArrayList<>())
                                .add(end.getExpression()));
            }
            return super.visitReturn(end, nothing);
        }

        @Override
        public Void visitNewClass(NewClassTree object, Void nothing) {
            made.add(new Located<>(object, method()));
            return super.visitNewClass(object, nothing);
        }

        @Override
        public Void visitMethodInvocation(MethodInvocationTree call, Void nothing) {
            calls.add(new Located<>(call, method()));
            return super.visitMethodInvocation(call, nothing);
        }

        private Optional<MethodTree> method() {
            for (Tree tree : getCurrentPath()) {
                if (tree instanceof MethodTree method) {
                    return Optional.of(method);
                }
            }
            return Optional.empty();
        }

        private boolean isInLambda() {
            for (Tree tree : getCurrentPath()) {
                if (tree instanceof LambdaExpressionTree) {
                    return true;
                }
            }
            return false;
        }
    }
}
