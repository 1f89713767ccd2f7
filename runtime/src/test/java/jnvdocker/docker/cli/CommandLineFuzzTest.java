package jnvdocker.docker.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.labels.Mutations;
import jnvdocker.request.InvalidGpuRequestException;

import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/** Any words may be typed, and docker's help may say anything. */
class CommandLineFuzzTest {
    private static final String HELP =
            """
            Usage:  docker run [OPTIONS] IMAGE [COMMAND] [ARG...]

            Options:
                  --add-host list           Add a custom host-to-IP mapping
              -d, --detach                  Run container in background
                  --annotation map          Add an annotation (default map[])
                  --maybe string[="x"]      May have a value
            """;

    @Property(tries = 8_000, seed = "6")
    void anyCommandLineIsUnderstoodOrLeftToDocker(@ForAll("lines") List<String> words)
            throws IOException {
        try {
            if (DockerCommandLine.parse(words, _ -> HELP) instanceof RunCommand run) {
                // Nothing that was typed is lost, except for the options that we take over.
                List<String> left = new ArrayList<>(words);
                for (String word : run.with(List.of())) {
                    left.remove(word);
                }
                assertTrue(
                        run.gpus().isPresent() || run.platform().isPresent() || left.isEmpty(),
                        () -> "lost " + left + " of " + words);
                assertEquals(words.contains(run.image()), true, () -> run.image() + " " + words);
            }
        } catch (InvalidGpuRequestException e) {
            assertTrue(e.getMessage().length() < 2_000, e.getMessage());
        }
    }

    @Provide
    Arbitrary<List<String>> lines() {
        Arbitrary<String> word =
                Arbitraries.oneOf(
                        Arbitraries.of(
                                "run",
                                "create",
                                "container",
                                "cuda",
                                "-it",
                                "--rm",
                                "--",
                                "-e",
                                "A=b",
                                "--gpus",
                                "all",
                                "2",
                                "device=0,1",
                                "\"device=0,1\"",
                                "-v",
                                "/a:/b",
                                "--mount",
                                "type=bind,src=/a,dst=/b",
                                "--device",
                                "/dev/nvidia0",
                                "--name=x",
                                "--pull",
                                "-H",
                                "--help=false",
                                ""),
                        Mutations.ofTexts("--gpus=\"device=0,1\"", "--detach", "-itv", "--new x"),
                        Arbitraries.strings().ofMaxLength(8));
        return word.list().ofMaxSize(12);
    }

    @Property(tries = 4_000, seed = "7")
    void everyHelpIsReadInTime(@ForAll("helps") String help) {
        for (DockerOption option : OptionTable.parse(help).options()) {
            assertTrue(option.name().matches("[^\\s=]+"), option::toString);
        }
    }

    @Provide
    Arbitrary<String> helps() {
        return Mutations.ofTexts(HELP, HELP.repeat(20));
    }
}
