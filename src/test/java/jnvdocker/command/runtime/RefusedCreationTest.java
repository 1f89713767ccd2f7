package jnvdocker.command.runtime;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.oci.spec.DockerContainer;
import jnvdocker.oci.spec.RuntimeSpec;
import jnvdocker.posix.Peer;
import jnvdocker.process.Processes;
import jnvdocker.protocol.ClientRequest;
import jnvdocker.words.RefusedException;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Which refused containers run a program that says why, so that their policy tries again. */
class RefusedCreationTest {
    private static final String CONFIG = "{\"process\":{\"args\":[\"train\"]}}";
    private static final Path PROGRAM = Path.of("/opt/refused/jnvdocker-refused");

    private static Optional<DockerContainer> docker(String policy, boolean restarting)
            throws RefusedException {
        return DockerContainer.parse(
                RuntimeSpec.parse(CONFIG),
                "{\"ID\":\"c\",\"State\":{\"Restarting\":" + restarting + "}}",
                "{\"RestartPolicy\":{\"Name\":\"" + policy + "\"}}");
    }

    /**
     * The reason is for the user that types a start; other starts are docker's, or its policy's.
     */
    @ParameterizedTest
    @CsvSource({
        "always, true, true, true, true",
        "on-failure, true, true, true, true",
        "always, false, true, true, false",
        "always, false, false, true, true",
        "unless-stopped, false, false, true, true",
        "no, false, false, true, false",
        "'', false, false, true, false",
        "always, true, true, false, false",
        "always, false, false, false, false"
    })
    void policyTriesAgainWhereNobodyTyped(
            String policy, boolean restarting, boolean started, boolean retries, boolean again)
            throws Exception {
        RefusedCreation creation = new RefusedCreation(() -> retries, () -> started, PROGRAM);
        Optional<String> instead =
                creation.instead(CONFIG, docker(policy, restarting), "GPU 0 is held");
        assertEquals(again, instead.isPresent());
        if (again) {
            assertTrue(
                    instead.get().contains("[\"/jnvdocker-refused\",\"jnvdocker: GPU 0 is held\"]"),
                    instead::get);
        }
    }

    @Test
    void containersOfOtherEnginesAreRefused() throws Exception {
        RefusedCreation creation = new RefusedCreation(() -> true, () -> false, PROGRAM);
        assertEquals(Optional.empty(), creation.instead(CONFIG, Optional.empty(), "no"));
    }

    private static ClientRequest by(int uid) {
        return new ClientRequest(
                new Peer((int) ProcessHandle.current().pid(), uid),
                Processes.ofThisMachine().find((int) ProcessHandle.current().pid()),
                new ClientRequest.Terminals(false, false, false),
                false,
                0,
                "/",
                List.of(),
                List.of("runtime", "create"),
                Map.of());
    }

    @Test
    void enginesWithoutRootsRightsAreRefused() throws Exception {
        RuntimeCalls.refuseOthersThanEngines(by(0));
        assertEquals(
                "only an engine that runs as root can start containers with GPUs: without root's"
                        + " rights a container has no device rules; run it with the host's engine",
                assertThrows(
                                RefusedException.class,
                                () -> RuntimeCalls.refuseOthersThanEngines(by(1000)))
                        .getMessage());
    }
}
