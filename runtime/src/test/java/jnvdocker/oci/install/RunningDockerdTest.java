package jnvdocker.oci.install;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.words.RefusedException;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/** Programs that are called dockerd, of any user. */
@Tag("root")
class RunningDockerdTest {
    private static final String NOBODY = "65534";

    @TempDir Path directory;
    private Path program;

    @BeforeEach
    void copyShell() throws IOException {
        program = Files.copy(Path.of("/bin/sh").toRealPath(), directory.resolve("dockerd"));
        for (Path path : List.of(directory, program)) {
            Files.setPosixFilePermissions(path, PosixFilePermissions.fromString("rwxr-xr-x"));
        }
    }

    /** Returns when it runs. */
    private Process start(Path socket, String... before) throws IOException {
        Stream<String> command =
                Stream.of(
                        program.toString(),
                        "-c",
                        "echo; read word",
                        "sh",
                        "--host=unix://" + socket);
        Process process =
                new ProcessBuilder(Stream.concat(Stream.of(before), command).toList()).start();
        assertEquals("", process.inputReader().readLine());
        return process;
    }

    @Test
    void usersProgramOfThatNameIsNeitherTakenForRootsNorBeforeIt() throws Exception {
        Path socket = directory.resolve("docker.sock");
        Process users =
                start(
                        socket,
                        "setpriv",
                        "--reuid=" + NOBODY,
                        "--regid=" + NOBODY,
                        "--clear-groups");
        try {
            Optional<RunningDockerd> found =
                    RunningDockerd.at(socket).filter(it -> it.process().pid() == users.pid());
            if (found.isPresent()) {
                RefusedException refused =
                        assertThrows(RefusedException.class, found.get()::refuseUnfit);
                assertTrue(
                        refused.refusal().what().endsWith("runs without root, as uid " + NOBODY),
                        refused.getMessage());
            }
            Process roots = start(socket);
            try {
                RunningDockerd first = RunningDockerd.at(socket).orElseThrow();
                assertEquals(roots.pid(), first.process().pid());
                first.refuseUnfit();
            } finally {
                roots.destroyForcibly().waitFor();
            }
        } finally {
            users.destroyForcibly().waitFor();
        }
    }
}
