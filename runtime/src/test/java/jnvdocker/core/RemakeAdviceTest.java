package jnvdocker.core;

import static org.junit.jupiter.api.Assertions.assertEquals;

import jnvdocker.claim.RemakeAdvice;
import jnvdocker.lease.Claim;
import jnvdocker.lease.ClaimKey;
import jnvdocker.lease.ClaimedGpu;
import jnvdocker.lease.Origin;
import jnvdocker.lease.Owner;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.time.Instant;
import java.util.List;
import java.util.Optional;

class RemakeAdviceTest {
    private static Claim claim(Optional<String> name) {
        return new Claim(
                ClaimKey.secretless("000000000abc"),
                new Origin.EngineContainer("ENGINE", Optional.of("nvidia/cuda")),
                new Owner(1000, "alice"),
                List.of(
                        new ClaimedGpu("GPU-a", 0, 0, Optional.empty(), Optional.empty()),
                        new ClaimedGpu("GPU-b", 1, 1, Optional.empty(), Optional.empty())),
                Instant.EPOCH,
                name.map(it -> new Claim.ContainerRef("3f2a9c01d4e5", it)));
    }

    @Test
    void containerIsNamed() {
        assertEquals(
                ", or make it again on other GPUs: jnvdocker gpu remake Train_7.b",
                RemakeAdvice.of(claim(Optional.of("Train_7.b"))));
    }

    @Test
    void unknownNameIsInNoCommand() {
        assertEquals(
                "jnvdocker gpu remake CONTAINER", RemakeAdvice.command(claim(Optional.empty())));
    }

    @ParameterizedTest
    @ValueSource(strings = {"a b", "$(reboot)", "-f", "a;b", "ä", ""})
    void nameThatDockerDoesNotTakeIsInNoCommand(String name) {
        assertEquals(
                "jnvdocker gpu remake CONTAINER", RemakeAdvice.command(claim(Optional.of(name))));
    }
}
