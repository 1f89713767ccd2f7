package jnvdocker.docker.engine;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.util.HashMap;
import java.util.Map;

class EngineRuntimesTest {
    private final EngineRuntimes runtimes =
            new EngineRuntimes(
                    "runc",
                    Map.of(
                            "io.containerd.runc.v2", "",
                            "runc", "runc",
                            "mine", "/usr/bin/crun",
                            "nvidia", "nvidia-container-runtime",
                            "disguised-runc", "/usr/bin/nvidia-container-runtime",
                            "kata", "",
                            "runc-directory", "/opt/runc/kata"));

    @ParameterizedTest
    @CsvSource({"''", "runc", "io.containerd.runc.v2", "mine"})
    void runcAndCrunArePlain(String name) {
        assertTrue(runtimes.isPlain(name));
    }

    @ParameterizedTest
    @CsvSource({"nvidia", "disguised-runc", "kata", "runc-directory", "unknown", "/usr/bin/shim"})
    void otherAndUnknownRuntimesAreNotPlain(String name) {
        assertFalse(runtimes.isPlain(name));
    }

    @Test
    void noNameIsTheEnginesOwnChoice() {
        assertFalse(new EngineRuntimes("nvidia", runtimes.paths()).isPlain(""));
        assertFalse(new EngineRuntimes("", Map.of()).isPlain(""));
    }

    @Test
    void programCountsAndNotTheName() {
        assertFalse(
                new EngineRuntimes("runc", Map.of("runc", "/usr/bin/nvidia-container-runtime"))
                        .isPlain("runc"));
    }

    @Test
    void laterChangesOfTheMapChangeNothing() {
        Map<String, String> paths = new HashMap<>(Map.of("runc", "runc"));
        EngineRuntimes kept = new EngineRuntimes("runc", paths);
        paths.clear();
        assertTrue(kept.isPlain(""));
    }
}
