package jnvdocker.docker.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;

final class OptionTableTest {
    @Test
    void readsWhatDockerPrints() {
        OptionTable table =
                OptionTable.parse(
                        """
                        Usage:  docker run [OPTIONS] IMAGE [COMMAND] [ARG...]

                        Options:
                              --cgroupns string                  Cgroup namespace to use
                                                                 (host|private)
                                                                 'host':    Run the container in
                                                                 the Docker host's cgroup
                          -d, --detach                           Run container in background
                              --pids-limit int                   Tune container pids limit (set
                                                                 -1 for unlimited)
                          -e, --env list
                              --tls
                              --cache string[="all"]             Optional value
                              --color[=auto]                     Optional value without type
                        """);
        assertEquals(
                "cgroupns REQUIRED, detach BOOLEAN, pids-limit REQUIRED, env REQUIRED, tls BOOLEAN,"
                        + " cache OPTIONAL, color OPTIONAL",
                table.options().stream()
                        .map(option -> option.name() + " " + option.value())
                        .collect(Collectors.joining(", ")));
        assertEquals(Optional.of("env"), table.lettered('e').map(DockerOption::name));
        assertEquals(Optional.empty(), table.lettered('1'));
    }

    @Test
    void textThatIsNoHelpTeachesNothing() {
        for (String text :
                List.of(
                        "",
                        "\u0000\ud800--x",
                        "docker: command not found",
                        "--name string",
                        "      --" + "x".repeat(1000),
                        "      --=x   y",
                        "   -e, --env list",
                        "  -ee, --env list",
                        "      ".repeat(100_000))) {
            assertTrue(OptionTable.parse(text).options().isEmpty(), text);
        }
    }

    @Test
    void tablesHoldEveryOptionOfTheSources() {
        assertEquals(12, DockerOptions.GLOBAL.options().size());
        assertEquals(107, DockerOptions.of(Verb.RUN).options().size());
        assertEquals(104, DockerOptions.of(Verb.CREATE).options().size());
    }
}
