package jnvdocker.kubernetes;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Set;

class ClaimFileTest {
    /** As kubelets of Kubernetes 1.32 and later write it. */
    private static final String FILE =
            """
            {"Data":"{\\"kind\\":\\"DRACheckpoint\\",\\"apiVersion\\":\\"checkpoint.dra.kubelet.k8s.io/v1\\",\
            \\"ClaimInfoStateList\\":[{\\"ClaimUID\\":\\"067798be-454e-4be4-9047-1aa06aea63f7\\",\
            \\"ClaimName\\":\\"example\\",\\"Namespace\\":\\"default\\",\
            \\"PodUIDs\\":{\\"139cdb46-f989-4f17-9561-ca10cfb509a6\\":{}},\\"DriverState\\":{}}]}",\
            "Checksum":1656016162}\
            """;

    @TempDir private Path directory;

    private ClaimFile file(String text) throws IOException {
        Files.writeString(directory.resolve("dra_manager_state"), text);
        return new ClaimFile(directory);
    }

    @Test
    void namesThePodsOfEachClaim() throws IOException {
        assertEquals(
                Map.of(
                        "067798be-454e-4be4-9047-1aa06aea63f7",
                        new PreparedClaim(
                                "default",
                                "example",
                                Set.of("139cdb46-f989-4f17-9561-ca10cfb509a6"))),
                file(FILE).read());
    }

    @Test
    void kubeletThatHasPreparedNothingHasNoFile() throws IOException {
        assertEquals(Map.of(), new ClaimFile(directory).read());
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "{}",
                "[",
                "{\"Data\":7}",
                "{\"Data\":\"[\"}",
                "{\"Data\":\"{}\"}",
                "{\"Data\":\"{\\\"ClaimInfoStateList\\\":[{\\\"ClaimUID\\\":\\\"a\\\",\\\"PodUIDs\\\":{\\\"../x\\\":{}}}]}\"}"
            })
    void fileThatNoKubeletWritesIsMalformed(String text) throws IOException {
        String why =
                assertThrows(MalformedCheckpointException.class, file(text)::read).getMessage();
        assertTrue(why.startsWith(directory + "/dra_manager_state "), why);
    }
}
