package jnvdocker.lease;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import jnvdocker.use.ImageNames;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.util.Optional;
import java.util.Set;

/** Whom an administrator lets observe the GPUs. */
class ObserverPolicyTest {
    private static final Owner ALICE = new Owner(1001, "alice");

    private static final ObserverPolicy POLICY =
            new ObserverPolicy(
                    new ImageNames(Set.of("dcgm-exporter", "lab/monitor:2")),
                    Set.of("monitor", "1002"));

    @ParameterizedTest
    @CsvSource({
        "dcgm-exporter, true",
        "nvcr.io/nvidia/k8s/dcgm-exporter:4.2.0-ubuntu22.04, true",
        "nvcr.io/nvidia/k8s/dcgm-exporter@sha256:0, true",
        "lab/monitor:2, true",
        "registry:5000/lab/monitor:2, true",
        "lab/monitor:3, false",
        "my-dcgm-exporter, false",
        "dcgm-exporter/x, false"
    })
    void imagesAreNamedWithOrWithoutRegistryAndTag(String image, boolean allowed) {
        assertEquals(allowed, POLICY.allows(Optional.of(image), ALICE));
        assertFalse(ObserverPolicy.NONE.allows(Optional.of(image), ALICE));
    }

    @ParameterizedTest
    @CsvSource({"7, monitor, true", "1002, bob, true", "1001, alice, false"})
    void usersAreKnownByNameOrNumber(int uid, String name, boolean allowed) {
        assertEquals(allowed, POLICY.allows(Optional.empty(), new Owner(uid, name)));
    }

    /** Any user can write such a label. */
    @Test
    void guessedUserMayNot() {
        assertFalse(POLICY.allows(Optional.of("x"), Owner.guessed("monitor")));
        assertFalse(POLICY.allows(Optional.empty(), Owner.UNKNOWN));
    }
}
