package jnvdocker.command.gpu.view;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import jnvdocker.attack.Attack;
import jnvdocker.lease.Lease;
import jnvdocker.words.RefusedException;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.util.List;

@Attack(
        by = "a member",
        what = "names a container like another's claim id",
        result = "a release is refused, with both named")
class LiveClaimTest {
    private static final List<Lease> LIVE =
            List.of(
                    Samples.held(0x1000, "train-7", 0),
                    Samples.held(0x2000, "000000111", 1),
                    Samples.held(0x3000, "twin", 2),
                    Samples.held(0x4000, "twin", 3));

    @ParameterizedTest
    @CsvSource({
        "train-7, 4096",
        "000000111000, 4096",
        "0000001, 4096",
        "0000003, 12288",
    })
    void claimIsMeantByItsIdTheBeginningOfThatOrAName(String text, long lease)
            throws RefusedException {
        assertEquals(lease, LiveClaim.find(text, LIVE).id());
    }

    @Test
    void whatMeansMoreThanOneIsRefused() {
        assertEquals(
                "'twin' matches more than one claim: 000000333000 twin, 000000444000 twin; type"
                        + " more of its claim's id",
                refusal("twin", LIVE));
        // Otherwise such a container name could cause the release of another's claim, or of its own
        // in its place.
        assertEquals(
                "'000000111' matches more than one claim: 000000111000 train-7, 000000222000"
                        + " 000000111; type more of its claim's id",
                refusal("000000111", LIVE));
        assertEquals(
                "'00000011' matches more than one claim: 000000111000 train-7, 000000119880"
                        + " 00000011; type more of its claim's id",
                refusal("00000011", List.of(LIVE.getFirst(), Samples.held(0x1080, "00000011", 1))));
    }

    @Test
    void whatMeansNoneIsQuoted() {
        assertEquals(
                "no claim or container '\\u{1b}x' holds a GPU; none does ('jnvdocker gpu leases')",
                refusal("\u001bx", List.of()));
        assertEquals(
                "no claim or container '' holds a GPU; those that do: 000000111000 train-7"
                        + " ('jnvdocker gpu leases')",
                refusal("", LIVE.subList(0, 1)));
    }

    private static String refusal(String text, List<Lease> live) {
        return assertThrows(RefusedException.class, () -> LiveClaim.find(text, live)).getMessage();
    }
}
