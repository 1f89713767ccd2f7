package jnvdocker.core;

import static jnvdocker.lease.TestingLeases.A;
import static jnvdocker.lease.TestingLeases.ALICE;
import static jnvdocker.lease.TestingLeases.B;
import static jnvdocker.lease.TestingLeases.THEN;
import static jnvdocker.lease.TestingLeases.claim;
import static jnvdocker.lease.TestingLeases.part;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import jnvdocker.host.Gpu;
import jnvdocker.lease.Claim;
import jnvdocker.lease.ClaimedGpu;
import jnvdocker.lease.Share;
import jnvdocker.lease.TestingLeases;
import jnvdocker.recovery.ClaimOptions;
import jnvdocker.request.MemorySize;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

class ClaimOptionsTest {
    private static final String ID = "111111111111";
    private static final Claim PARTED = claim(ID, ALICE, part(A, 0), part(A, 1), B);

    private static Optional<Claim> read(Map<String, String> options) {
        Map<String, Integer> index = new HashMap<>();
        for (Gpu gpu : List.of(A, part(A, 0), part(A, 1), B)) {
            index.put(gpu.uuid(), gpu.index());
        }
        return ClaimOptions.read(TestingLeases.key(ID), "engine", options, index, THEN);
    }

    @Test
    void optionsOfInstancesSayWhichPartsTheyAre() {
        assertEquals(PARTED.gpus(), read(ClaimOptions.of(PARTED)).orElseThrow().gpus());
    }

    @Test
    void optionsOfWholeGpusNameNoParts() {
        Claim whole = claim(ID, ALICE, A, B);
        assertEquals(
                List.of("gpus", "minors", "uid"), List.copyOf(ClaimOptions.of(whole).keySet()));
        assertEquals(whole.gpus(), read(ClaimOptions.of(whole)).orElseThrow().gpus());
    }

    @Test
    void optionsOfSharesSayHowMuchTheyAre() {
        Share share = new Share(new MemorySize(10, "G"), 40L << 30);
        Claim whole = claim(ID, ALICE, A);
        Claim shared =
                new Claim(
                        TestingLeases.key(ID),
                        whole.origin(),
                        ALICE,
                        List.of(ClaimedGpu.of(A, Optional.of(share))),
                        THEN,
                        Optional.empty());
        assertEquals(shared.gpus(), read(ClaimOptions.of(shared)).orElseThrow().gpus());
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "-", "-+-", "-+-+x", "-+-+GPU-5c1a1003-1d2c:1:2:3:4", "-+-+-+-"})
    void otherPartsAreNotOurs(String parts) {
        Map<String, String> options = new HashMap<>(ClaimOptions.of(PARTED));
        options.put("parts", parts);
        assertFalse(read(options).isPresent());
    }
}
