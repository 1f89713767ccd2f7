package jnvdocker.oci.install;

import static org.junit.jupiter.api.Assertions.assertEquals;

import jnvdocker.process.Credentials;
import jnvdocker.process.StartedProgram;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/** The containers that podman and containerd run with a runtime, by their processes and files. */
class RuntimeUsersTest {
    private static final Path PROGRAM = Path.of("/opt/rt/nvidia-container-runtime");

    @TempDir Path state;

    private static StartedProgram monitor(int uid, String... words) {
        return new StartedProgram(
                4711, Path.of("/"), new Credentials(uid, Set.of()), List.of(words), List.of());
    }

    @Test
    void podmansAreThoseOfItsMonitors() {
        String other = "/usr/bin/crun";
        assertEquals(
                List.of("0123", "train"),
                RuntimeUsers.monitored(
                        List.of(
                                monitor(0, "conmon", "-c", "ab", "-r", PROGRAM + "", "-n", "train"),
                                monitor(0, "conmon", "-c", "cd", "-r", other, "-n", "other"),
                                monitor(0, "conmon", "-c", "0123", "-r", PROGRAM + ""),
                                monitor(0, "conmon", "-r"),
                                monitor(1000, "conmon", "-r", PROGRAM + "", "-n", "forged")),
                        PROGRAM));
    }

    @Test
    void containerdsAreThoseOfItsTasks() throws Exception {
        task("k8s.io/" + "5c1a".repeat(16), PROGRAM.toString());
        task("k8s.io/other", "/usr/bin/runc");
        task("default/one", PROGRAM + "\n");
        Files.createDirectories(state.resolve("io.containerd.runtime.v2.task/default/gone"));
        assertEquals(
                List.of("default/one", "k8s.io/5c1a5c1a5c1a"),
                RuntimeUsers.containerds(state, PROGRAM));
        Registration registration =
                new Registration(
                        EngineKind.CONTAINERD,
                        Files.writeString(
                                state.resolve("config.toml"),
                                "version = 2\nstate = \"" + state + "\"\n"),
                        "nvidia",
                        PROGRAM.getParent(),
                        Optional.empty());
        assertEquals(2, RuntimeUsers.of(registration).size());
        assertEquals(List.of(), RuntimeUsers.containerds(state.resolve("nowhere"), PROGRAM));
    }

    private void task(String name, String runtime) throws IOException {
        Path directory = state.resolve("io.containerd.runtime.v2.task").resolve(name);
        Files.createDirectories(directory);
        Files.writeString(directory.resolve("runtime"), runtime);
    }
}
