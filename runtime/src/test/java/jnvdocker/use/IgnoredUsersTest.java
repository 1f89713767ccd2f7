package jnvdocker.use;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import jnvdocker.process.ProcessTraits;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.util.List;
import java.util.Optional;

class IgnoredUsersTest {
    private static final IgnoredUsers IGNORED = new IgnoredUsers(List.of("watcher", "lab/monitor"));

    @ParameterizedTest
    @CsvSource({
        "nvidia-persiste, '', true",
        "nvidia-persist, '', false",
        "nvidia-cuda-mps, nvidia-cuda-mps-server, true",
        "nvidia-cuda-mps, '', true",
        "Xorg, Xorg, true",
        "InputThread, Xorg, true",
        "nvitop, python3, true",
        "watcher, python3, true",
        "python3, python3, false",
        "'', '', false",
    })
    void processIsKnownByItsNameOrThatOfItsFile(String name, String program, boolean ignored) {
        ProcessTraits process =
                new ProcessTraits(name, program, 0, Optional.empty(), Optional.empty());
        assertEquals(ignored, IGNORED.has(process));
    }

    @ParameterizedTest
    @CsvSource({
        "lab/monitor, true",
        "lab/monitor:2, true",
        "registry.lab:5000/lab/monitor:2, true",
        "other-lab/monitor, false",
        "monitor, false",
        "nvcr.io/nvidia/k8s/dcgm-exporter:3.3, true",
        "nvcr.io/nvidia/k8s/dcgm-exporter@sha256:0123, true",
        "dcgm-exporter-of-mine, false",
        "sha256:0123, false",
    })
    void imageIsKnownByTheEndOfItsName(String image, boolean ignored) {
        assertEquals(ignored, IGNORED.hasImage(image));
    }

    @Test
    void imageWithoutANameIsNone() {
        assertFalse(IGNORED.hasImage(""));
    }
}
