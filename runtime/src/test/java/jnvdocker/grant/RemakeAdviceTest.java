package jnvdocker.grant;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.lease.Claim;
import jnvdocker.lease.ClaimedGpu;
import jnvdocker.lease.Origin;
import jnvdocker.lease.Owner;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.time.Instant;
import java.util.List;
import java.util.Optional;

class RemakeAdviceTest {
    private static Claim claim(Optional<String> name) {
        return new Claim(
                "000000000abc",
                new Origin.EngineContainer("ENGINE", Optional.of("nvidia/cuda")),
                new Owner(1000, "alice"),
                List.of(new ClaimedGpu("GPU-a", 0, 0), new ClaimedGpu("GPU-b", 1, 1)),
                Instant.EPOCH,
                name.map(it -> new Claim.ContainerRef("3f2a9c01d4e5", it)));
    }

    /** Docker takes names for containers that it does not take for images. */
    @ParameterizedTest
    @CsvSource({
        "train-7, train-7-saved",
        "Train_7, train-7-saved",
        "a__.b, a-b-saved",
        "lab-, lab-saved",
        "x, x-saved"
    })
    void containerIsRemovedLast(String name, String image) {
        String advice = RemakeAdvice.of(claim(Optional.of(name)));
        assertTrue(
                advice.contains(
                        (": docker commit %1$s %2$s && jnvdocker run -d --name %1$s-new --gpus 2"
                                        + " %2$s && docker rm %1$s && docker rename %1$s-new %1$s"
                                        + " (")
                                .formatted(name, image)),
                advice);
    }

    @Test
    void unknownNameIsInNoCommand() {
        String advice = RemakeAdvice.of(claim(Optional.empty()));
        assertTrue(
                advice.contains(
                        ": docker commit makes an image of it for 'jnvdocker run' (containers"),
                advice);
    }

    @ParameterizedTest
    @ValueSource(strings = {"a b", "$(reboot)", "-f", "a;b", "ä", ""})
    void nameThatDockerDoesNotTakeIsInNoCommand(String name) {
        assertFalse(RemakeAdvice.of(claim(Optional.of(name))).contains("&&"));
    }
}
