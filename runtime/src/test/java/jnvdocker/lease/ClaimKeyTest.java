package jnvdocker.lease;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;

import jnvdocker.attack.Attack;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.util.List;
import java.util.Map;
import java.util.Optional;

@Attack(
        by = "a member",
        what =
                "names another's reservation, whose id every user sees, by the label"
                    + " `jnvdocker.claim` or the claim's volume, with a made-up secret or without"
                    + " one",
        result = "refused; the reservation stays its client's; lists and messages show no secret")
class ClaimKeyTest {
    private static final ClaimKey KEY = TestingLeases.newKey();

    @Test
    void namesInDockerHaveTheSecret() {
        assertEquals(Optional.of(KEY), ClaimKey.parse(KEY.text()));
        assertEquals(Optional.of(KEY), ClaimNames.ofVolume(ClaimNames.volume(KEY)));
        Map<String, String> labels = Map.of(ClaimNames.CLAIM_LABEL, KEY.text());
        assertEquals(Optional.of(KEY), ClaimNames.ofLabel(labels));
        assertEquals(Optional.of(KEY), ClaimNames.of(labels, List.of(ClaimNames.volume(KEY))));
        ClaimKey other = new ClaimKey(KEY.id(), TestingLeases.newKey().secret());
        assertNotEquals(KEY, other);
        assertEquals(Optional.empty(), ClaimNames.of(labels, List.of(ClaimNames.volume(other))));
    }

    /** Logs and messages are for everybody. */
    @Test
    void textForPeopleIsTheIdAlone() {
        assertEquals(KEY.id(), "" + KEY);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "0123456789ab",
                "0123456789ab-",
                "0123456789ab-0123456789abcdef0123456789abcde",
                "0123456789ab-0123456789abcdef0123456789abcdef0",
                "0123456789ab-0123456789ABCDEF0123456789abcdef",
                "0123456789ab_0123456789abcdef0123456789abcdef",
                " 0123456789ab-0123456789abcdef0123456789abcdef",
            })
    void otherTextsAreNone(String text) {
        assertEquals(Optional.empty(), ClaimKey.parse(text));
        assertEquals(Optional.empty(), ClaimNames.ofVolume("jnvdocker_claim_" + text));
    }
}
