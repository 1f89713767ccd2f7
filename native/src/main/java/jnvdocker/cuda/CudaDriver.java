package jnvdocker.cuda;

import jnvdocker.labels.CudaVersion;
import jnvdocker.process.ShortProcess;
import jnvdocker.words.Quote;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Asks a driver's libcuda which CUDA version it supports, on a machine with or without a GPU. A
 * child process, a small Java like this one, does that: a library that crashes or hangs harms only
 * the child.
 */
public final class CudaDriver {
    /** A child on a busy machine takes a second or two. */
    private static final Duration LIMIT = Duration.ofSeconds(10);

    private static final Pattern ANSWER =
            Pattern.compile("^" + CudaQuestion.ANSWER + "(-?[0-9]{1,10})$", Pattern.MULTILINE);
    private static final Pattern FAILURE =
            Pattern.compile("^" + CudaQuestion.FAILURE + "(.*)$", Pattern.MULTILINE);

    private final List<String> program;
    private final Duration limit;

    public CudaDriver() {
        this(child(), LIMIT);
    }

    /** Asks another program, which gets the library's file and a number of seconds. */
    CudaDriver(List<String> program, Duration limit) {
        this.program = List.copyOf(program);
        this.limit = limit;
    }

    /**
     * @param libcuda the library's own file; its other parts are searched for beside it
     * @throws IOException when there is no answer; the message names the file and the reason
     */
    public CudaVersion ask(Path libcuda) throws IOException {
        try {
            return answer(ShortProcess.run(command(libcuda.toAbsolutePath()), limit));
        } catch (IOException e) {
            throw new IOException(libcuda + ": " + e.getMessage(), e);
        }
    }

    private ProcessBuilder command(Path libcuda) {
        List<String> words = new ArrayList<>(program);
        words.add(libcuda.toString());
        words.add(Long.toString(limit.toSeconds() + 1));
        ProcessBuilder builder = new ProcessBuilder(words);
        Map<String, String> environment = builder.environment();
        environment.clear();
        environment.put("LC_ALL", "C.UTF-8");
        environment.put("LD_LIBRARY_PATH", libcuda.getParent().toString());
        return builder;
    }

    /** Parses strictly: a result that is not an answer in every respect is no answer. */
    static CudaVersion answer(ShortProcess.Result result) throws IOException {
        Matcher failure = FAILURE.matcher(result.output());
        if (failure.find()) {
            throw new IOException(Quote.shown(failure.group(1)));
        }
        Matcher answer = ANSWER.matcher(result.output());
        if (result.exitCode() != 0 || !answer.find()) {
            throw new IOException(
                    "asking it ends with exit code "
                            + result.exitCode()
                            + " and the output "
                            + Quote.quoted(result.output().strip()));
        }
        return parse(answer.group(1))
                .orElseThrow(() ->
                        new IOException(
                                "it answers " + answer.group(1) + ", which is not a version"));
    }

    /** Returns 12.2 for 12020; empty for a number that no driver's version can be, such as 0. */
    static Optional<CudaVersion> parse(String number) {
        long value = Long.parseLong(number);
        if (value < 1000 || value > 99_999) {
            return Optional.empty();
        }
        return Optional.of(new CudaVersion((int) value / 1000, (int) value % 1000 / 10));
    }

    /**
     * Like the daemon, the child loads native code from its own tree and leaves no trace of a
     * crash.
     */
    static List<String> child() {
        List<String> words = new ArrayList<>();
        words.add(Path.of(System.getProperty("java.home"), "bin/java").toString());
        words.addAll(
                List.of(
                        "-XX:+UseSerialGC",
                        "-XX:TieredStopAtLevel=1",
                        "-Xmx32m",
                        "-Xshare:auto",
                        "-Xlog:disable",
                        "-XX:-UsePerfData",
                        "-XX:+SuppressFatalErrorMessage",
                        "-XX:-CreateCoredumpOnCrash",
                        "--enable-native-access=ALL-UNNAMED",
                        "--sun-misc-unsafe-memory-access=allow"));
        for (String name : List.of("jna.nounpack", "jna.boot.library.path", "java.io.tmpdir")) {
            String value = System.getProperty(name);
            if (value != null) {
                words.add("-D" + name + "=" + value);
            }
        }
        words.addAll(List.of("-cp", System.getProperty("java.class.path")));
        words.add(CudaQuestion.class.getName());
        return words;
    }
}
