package jnvdocker.daemon;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.command.gpu.view.Samples;
import jnvdocker.config.StartException;
import jnvdocker.feature.Feature;
import jnvdocker.posix.SocketFile;
import jnvdocker.process.Processes;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

/** The daemon without each of its features. */
@Tag("root")
class FeaturesTest {
    @TempDir Path directory;

    private static IntStream features() {
        return IntStream.range(0, all().size());
    }

    private static List<Feature> all() {
        return Features.of(Processes.ofThisMachine());
    }

    private Directories directories() throws IOException {
        Samples.host(directory.resolve("root"), 2);
        Map<String, String> environment = new HashMap<>();
        environment.put("JNVDOCKER_HOST_ROOT", directory.resolve("root").toString());
        environment.put("JNVDOCKER_DOCKER_SOCKET", directory.resolve("docker.sock").toString());
        for (String each : List.of("RUN", "STATE", "CACHE", "PLUGIN", "CDI")) {
            Path its = Files.createDirectories(directory.resolve(each));
            environment.put("JNVDOCKER_" + each + "_DIR", its.toString());
        }
        environment.put("JNVDOCKER_CONFIG", directory.resolve("config.toml").toString());
        return Directories.of(environment);
    }

    @ParameterizedTest
    @MethodSource("features")
    void daemonStartsWithoutOne(int left) throws IOException {
        List<Feature> features = new ArrayList<>(all());
        String table = features.remove(left).table().name();
        Path config = Files.writeString(directory.resolve("config.toml"), "");
        Directories directories = directories();
        try (Daemon _ = Daemon.start(directories, features)) {
            assertTrue(SocketFile.answers(directories.socket()));
        }

        Files.writeString(config, "[" + table + "]\n");
        StartException refused =
                assertThrows(StartException.class, () -> Daemon.start(directories, features));
        assertEquals(config + ":1: unknown key '" + table + "'", refused.refusal().what());
    }
}
