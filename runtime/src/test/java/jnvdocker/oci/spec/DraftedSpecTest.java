package jnvdocker.oci.spec;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** What is known of a container's {@code config.json} before docker writes it. */
class DraftedSpecTest {
    private static final int MAJOR = 195;
    private static final String ID = "5c1a".repeat(16);

    private static RuntimeSpec draft(String known, String settings) throws Exception {
        return RuntimeSpec.parse(
                RuntimeSpec.draft(Path.of("/d/containers", ID), known, settings, MAJOR));
    }

    @Test
    void hasVariablesNodesAndDockersDirectory() throws Exception {
        RuntimeSpec spec =
                draft(
                        "{\"Config\":{\"Env\":[\"JNVDOCKER_GPUS=2\",\"A=\"]}}",
                        "{\"Devices\":[{\"PathOnHost\":\"/dev/nvidia3\",\"PathInContainer\":\"/dev/gpu\"},"
                            + "{\"PathOnHost\":\"/dev/nvidiactl\"},{\"PathOnHost\":\"/dev/fuse\"}]}");
        assertEquals(Map.of("JNVDOCKER_GPUS", "2", "A", ""), spec.environment());
        assertEquals(Set.of(3), spec.gpuMinors(MAJOR, Set.of(0, 1, 2, 3)));
        assertEquals(Set.of(3), spec.gpuMinorsAt(MAJOR, Set.of("/dev/gpu")));
        assertEquals(false, spec.allowsAllDevices());
        assertEquals(Optional.of(Path.of("/d")), DockerContainer.dataRoot(spec, ID));
    }

    @Test
    void privilegedOneMayOpenAllDevices() throws Exception {
        assertEquals(true, draft("{}", "{\"Privileged\":true}").allowsAllDevices());
        assertEquals(Map.of(), draft("{}", "{}").environment());
    }
}
