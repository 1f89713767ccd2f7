package jnvdocker.docker.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.request.InvalidGpuRequestException;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import java.util.stream.Stream;

final class DockerCommandLineTest {
    private static final DockerHelp NO_HELP = verb -> "";

    @ParameterizedTest
    @MethodSource("goldenLines")
    void becomesWhatTheGoldenFileSays(GoldenLine line) throws Exception {
        assertEquals(line.expected(), line.actual(), line.typed());
    }

    static Stream<GoldenLine> goldenLines() throws IOException {
        try (InputStream file = DockerCommandLineTest.class.getResourceAsStream("command-lines")) {
            return new String(file.readAllBytes(), StandardCharsets.UTF_8)
                            .lines()
                            .filter(line -> !line.isBlank() && !line.startsWith("#"))
                            .map(GoldenLine::of)
                            .toList()
                            .stream();
        }
    }

    @Test
    void argumentsThatAreNoUnicodeSurvive() throws Exception {
        List<String> argv = List.of("run", "-e", "A=\udc80\n", "cuda", "\ud800", "", "\u0000");
        RunCommand run = assertInstanceOf(RunCommand.class, parse(argv));
        assertEquals(List.of("A=\udc80\n"), run.env());
        assertEquals(argv, run.with(List.of()));
    }

    @Test
    void helpIsReadOnceAndOnlyForAnUnknownOption() throws Exception {
        AtomicInteger requested = new AtomicInteger();
        DockerHelp help =
                verb -> {
                    requested.incrementAndGet();
                    return "      --new string   A new one\n      --newer   A newer one\n";
                };
        DockerCommandLine.parse(List.of("run", "-it", "--rm", "cuda"), help);
        assertEquals(0, requested.get());
        DockerCommandLine.parse(List.of("run", "--new", "x", "--newer", "cuda"), help);
        assertEquals(1, requested.get());
    }

    @Test
    void anyCommandLineIsReadOrRefusedInWords() throws Exception {
        Random random = new Random(20);
        int complete = 0;
        for (int i = 0; i < 100_000; i++) {
            List<String> argv = randomCommandLine(random);
            try {
                if (parse(argv) instanceof RunCommand run) {
                    checkRendering(argv, run);
                    complete++;
                }
            } catch (InvalidGpuRequestException e) {
                assertEquals("--gpus: ", e.getMessage().substring(0, 8));
            }
        }
        assertTrue(complete > 10_000, "only " + complete + " of them were complete");
    }

    private static void checkRendering(List<String> argv, RunCommand run) throws Exception {
        if (run.gpus().isEmpty()) {
            assertEquals(argv, run.with(List.of()));
        }
        RunCommand again =
                assertInstanceOf(RunCommand.class, parse(run.with(List.of("-e", "X", "--rm"))));
        assertEquals(run.image(), again.image());
        assertEquals(run.mountTargets(), again.mountTargets());
        assertEquals(run.gpuNodes(), again.gpuNodes());
        assertTrue(again.gpus().isEmpty());
        assertEquals(Stream.concat(run.env().stream(), Stream.of("X")).toList(), again.env());
    }

    private static List<String> randomCommandLine(Random random) {
        List<String> argv = new ArrayList<>(List.of(random.nextInt(4) == 0 ? "-D" : "run"));
        int length = random.nextInt(10);
        IntStream.range(0, length).mapToObj(i -> randomWord(random)).forEach(argv::add);
        return argv;
    }

    private static String randomWord(Random random) {
        List<String> pieces =
                List.of(
                        "-",
                        "--",
                        "=",
                        "i",
                        "t",
                        "v",
                        "e",
                        "env",
                        "gpus",
                        "--gpus",
                        "--gpus=",
                        "all",
                        "device=",
                        "0",
                        ",",
                        "\"",
                        "run",
                        "container",
                        "cuda",
                        "--mount",
                        "dst=/",
                        "/dev/nvidia",
                        ":",
                        "/",
                        "..",
                        "--device",
                        "-e",
                        "--tmpfs",
                        "--rm",
                        "--privileged",
                        "false",
                        "-itv",
                        "\ud800",
                        "\n",
                        " ",
                        "");
        StringBuilder word = new StringBuilder();
        for (int i = random.nextInt(4); i >= 0; i--) {
            word.append(pieces.get(random.nextInt(pieces.size())));
        }
        return word.toString();
    }

    private static DockerCommandLine parse(List<String> argv) throws Exception {
        return DockerCommandLine.parse(argv, NO_HELP);
    }
}
