package jnvdocker.docker.cli;

import static org.junit.jupiter.api.Assertions.assertAll;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/** Compares the table with every docker client in PATH. They need no engine for that. */
@Tag("docker")
final class DockerClientOptionsTest {
    @Test
    void tableKnowsEveryOptionThatAClientLists() throws Exception {
        List<Path> clients = clients();
        assertTrue(!clients.isEmpty(), "no docker in PATH");
        for (Path client : clients) {
            check(client, DockerOptions.GLOBAL, List.of("--help"));
            for (Verb verb : Verb.values()) {
                check(client, DockerOptions.of(verb), List.of(verb.word(), "--help"));
            }
        }
    }

    private static void check(Path client, OptionTable known, List<String> arguments)
            throws Exception {
        OptionTable listed = OptionTable.parse(output(client, arguments));
        assertTrue(listed.options().size() > 8, client + " " + arguments);
        assertAll(
                listed.options().stream()
                        .map(option ->
                                () ->
                                        assertEquals(
                                                Optional.of(option),
                                                known.named(option.name()),
                                                client + " " + arguments)));
    }

    private static List<Path> clients() {
        return Arrays.stream(System.getenv("PATH").split(":"))
                .map(directory -> Path.of(directory, "docker"))
                .filter(Files::isExecutable)
                .toList();
    }

    private static String output(Path client, List<String> arguments)
            throws IOException, InterruptedException {
        Process process =
                new ProcessBuilder(
                                Stream.concat(Stream.of(client.toString()), arguments.stream())
                                        .toList())
                        .redirectErrorStream(true)
                        .start();
        process.getOutputStream().close();
        String text = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertEquals(0, process.waitFor(), text);
        return text;
    }
}
