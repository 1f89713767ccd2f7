package jnvdocker.command.caller;

import jnvdocker.grant.Waiting;
import jnvdocker.protocol.ClientConnection;
import jnvdocker.protocol.ClientRequest;
import jnvdocker.words.InvalidValueException;
import jnvdocker.words.Refusal;
import jnvdocker.words.RefusedException;
import jnvdocker.words.Span;

import picocli.CommandLine.IParameterPreprocessor;
import picocli.CommandLine.Model.ArgSpec;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;

import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.Stack;

/** Whether and for how long a user waits: {@code --gpu-wait[=DURATION]}, {@code NV_GPU_WAIT}. */
public final class GpuWait {
    private static final String OPTION = "--gpu-wait";
    private static final Set<String> FOREVER = Set.of("true", "1", "yes", "forever");
    private static final Set<String> NOT = Set.of("", "false", "0", "no");

    private static final Span.Limits LIMITS = new Span.Limits(Duration.ZERO, Span.LONGEST);

    private GpuWait() {}

    /** The option of our own commands, which read it as {@code jnvdocker run} does. */
    public static final class Typed {
        @Option(
                names = OPTION,
                paramLabel = "DURATION",
                arity = "0..1",
                preprocessor = Attached.class,
                description =
                        "Wait for GPUs that are held by others, for DURATION (90s, 30m, 1d12h)"
                                + " behind the equals sign, or without limit.")
        private String value;

        /** The value; {@code true} for the option alone, and empty without the option. */
        public Optional<String> value() {
            return Optional.ofNullable(value);
        }
    }

    /** A duration needs an equals sign before it: the next word may be a program. */
    static final class Attached implements IParameterPreprocessor {
        @Override
        public boolean preprocess(
                Stack<String> arguments,
                CommandSpec command,
                ArgSpec option,
                Map<String, Object> info) {
            if (!"=".equals(info.get("separator"))) {
                if (!arguments.isEmpty() && isDuration(arguments.peek())) {
                    throw new ParameterException(
                            command.commandLine(),
                            following(arguments.peek(), "no part of it").message());
                }
                arguments.push("true");
            }
            return false;
        }
    }

    /**
     * @param option as typed; takes precedence over the variable
     */
    public static Optional<Waiting> of(
            Optional<String> option, ClientRequest request, ClientConnection client)
            throws RefusedException {
        String source = option.isPresent() ? OPTION : "NV_GPU_WAIT";
        String text = option.orElse(request.variable("NV_GPU_WAIT"));
        return of(source, text, Caller.isRoot(request), client);
    }

    /** Returns the wait that a container's label requests; empty when the label requests none. */
    public static Optional<Waiting> ofLabel(String label, String text, ClientConnection client)
            throws RefusedException {
        return of("the label " + label, text, false, client);
    }

    private static Optional<Waiting> of(
            String source, String text, boolean byRoot, ClientConnection client)
            throws RefusedException {
        String value = text.strip();
        if (NOT.contains(value)) {
            return Optional.empty();
        }
        Optional<Duration> limit =
                FOREVER.contains(value) ? Optional.empty() : Optional.of(span(source, value));
        return Optional.of(new Waiting(limit, listener(client), source, byRoot, () -> {}));
    }

    /**
     * Refuses {@code --gpu-wait 5m IMAGE}, in which docker would take {@code 5m} for the image.
     *
     * @param image the word after the option
     */
    public static void refuseDuration(String image) throws RefusedException {
        if (isDuration(image)) {
            throw new RefusedException(following(image, "the image"));
        }
    }

    private static boolean isDuration(String word) {
        try {
            Span.parse(word, LIMITS);
            return true;
        } catch (InvalidValueException _) {
            return false;
        }
    }

    private static Refusal following(String word, String what) {
        return new Refusal(
                "'%s' after %s would be %s".formatted(word, OPTION, what),
                "type %s=%s to wait that long".formatted(OPTION, word));
    }

    /**
     * Returns a wait that notifies the client, with each report, that it has a place in the queue.
     */
    public static Waiting of(Optional<Duration> limit, ClientConnection client) {
        return new Waiting(limit, listener(client));
    }

    private static Waiting.Listener listener(ClientConnection client) {
        return text -> {
            client.waits();
            client.message(text);
        };
    }

    private static Duration span(String source, String value) throws RefusedException {
        try {
            return Span.parse(value, LIMITS);
        } catch (InvalidValueException e) {
            throw new RefusedException(e.refusal().precededBy(source + ": "));
        }
    }
}
