package jnvdocker.tests.world;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;

import jnvdocker.command.gpu.JsonSchemas;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.lang.ProcessBuilder.Redirect;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/**
 * A program to run, and its result. No shell is involved. Output with {@code --json} is checked
 * against the schema of that command.
 */
public final class Command {
    private static final int LIMIT_SECONDS = 900;

    /**
     * The cache of the worlds, and the mark by which tests/run finds processes that are left
     * behind.
     */
    private static final Set<String> OF_THE_RUN = Set.of("JNVDOCKER_CACHE", "JNVDOCKER_TEST_RUN");

    private final List<String> words;
    private final Map<String, String> environment = new HashMap<>();
    private String input = "";
    private Path directory = Path.of("/");
    private Redirect output = Redirect.PIPE;

    /** The result of a program. Its output is unchanged, line ends included. */
    public record Result(int exitCode, String out, String err) {
        /** Both streams, for assertion messages. */
        @Override
        public String toString() {
            return "exit code " + exitCode + "\n--- out\n" + out + "--- err\n" + err;
        }

        /** The output of a program that succeeded. */
        public JsonNode json() {
            try {
                return new ObjectMapper().readTree(ok().out());
            } catch (JsonProcessingException e) {
                throw new AssertionError(toString(), e);
            }
        }

        /**
         * @throws AssertionError with all output, when the program failed
         */
        public Result ok() {
            if (exitCode != 0) {
                throw new AssertionError(toString());
            }
            return this;
        }
    }

    private Command(List<String> words) {
        this.words = words;
    }

    public static Command of(Object... words) {
        List<String> texts = new ArrayList<>();
        for (Object word : words) {
            texts.add(word.toString());
        }
        return new Command(texts);
    }

    /** Runs it as that user, in that group alone. */
    public Command as(int uid, String group) {
        words.addAll(0, List.of("setpriv", "--reuid=" + uid, "--regid=" + group, "--clear-groups"));
        return this;
    }

    /** Runs it as a user without any rights. */
    public Command asNobody() {
        return as(65534, "65534");
    }

    public Command with(String variable, Object value) {
        environment.put(variable, value.toString());
        return this;
    }

    public Command with(Map<String, String> variables) {
        environment.putAll(variables);
        return this;
    }

    public Command input(String text) {
        input = text;
        return this;
    }

    public Command in(Path workingDirectory) {
        directory = workingDirectory;
        return this;
    }

    /** Has another program run it: puts these words before its own. */
    public Command after(Object... program) {
        Command both = as(program);
        both.words.addAll(words);
        return both;
    }

    List<String> words() {
        return List.copyOf(words);
    }

    /** Another program, in the same environment. */
    Command as(Object... program) {
        return of(program).with(environment).in(directory);
    }

    /** Has both streams appended to a file, for a process whose output is not read. */
    public Command log(Path file) {
        output = Redirect.appendTo(file.toFile());
        return this;
    }

    public Process start() {
        ProcessBuilder builder = new ProcessBuilder(words).directory(directory.toFile());
        builder.redirectOutput(output).redirectError(output);
        builder.environment().keySet().removeIf(Command::isOfAnotherWorld);
        builder.environment().put("LC_ALL", "C.UTF-8");
        builder.environment().putAll(environment);
        try {
            return builder.start();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** A tester's own settings must not reach the program under test. */
    private static boolean isOfAnotherWorld(String variable) {
        return variable.startsWith("DOCKER_")
                || variable.startsWith("NV_")
                || variable.startsWith("JNVDOCKER_") && !OF_THE_RUN.contains(variable);
    }

    public Result run() {
        return run(_ -> {});
    }

    /**
     * @param meanwhile called with the process while it runs
     */
    public Result run(Consumer<Process> meanwhile) {
        Process process = start();
        // A pool may have only one thread, for which others may wait.
        Executor threads = Thread::startVirtualThread;
        var out = CompletableFuture.supplyAsync(() -> text(process.getInputStream()), threads);
        var err = CompletableFuture.supplyAsync(() -> text(process.getErrorStream()), threads);
        try {
            process.getOutputStream().write(input.getBytes(StandardCharsets.UTF_8));
            process.getOutputStream().close();
        } catch (IOException e) {
            // It may end without reading its input.
        }
        meanwhile.accept(process);
        try {
            if (!process.waitFor(LIMIT_SECONDS, TimeUnit.SECONDS)) {
                process.destroyForcibly();
                throw new AssertionError(words + " did not end in " + LIMIT_SECONDS + " s");
            }
        } catch (InterruptedException e) {
            // The thread stays uninterrupted: the commands that end the test's engine come next.
            process.destroyForcibly();
            throw new AssertionError(words + " was interrupted", e);
        }
        Result result = new Result(process.exitValue(), out.join(), err.join());
        if (words.contains("--json") && !result.out().isEmpty()) {
            int group = Math.max(words.indexOf("gpu"), words.indexOf("runtime"));
            String command = words.get(group) + "-" + words.get(group + 1);
            for (String other : List.of("--on", "--topology")) {
                if (command.equals("gpu-ls") && words.contains(other)) {
                    command += other.substring(1);
                }
            }
            JsonSchemas.check(command, result.out());
        }
        return result;
    }

    private static String text(InputStream stream) {
        try (stream) {
            return new String(stream.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
