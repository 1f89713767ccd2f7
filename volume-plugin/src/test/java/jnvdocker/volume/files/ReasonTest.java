package jnvdocker.volume.files;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.util.List;

class ReasonTest {
    /** As manifests have them. */
    private static final List<String> INTENDED =
            List.of(
                    "manages the host's driver",
                    "a module of the X server",
                    "belongs to nvidia-settings",
                    "belongs to driver 470.256.02",
                    "for the thread-local storage of kernel 2.2.5");

    @Test
    void intendedReasonsAreReadAsTheyAreWritten() {
        for (String words : INTENDED) {
            Reason read = Reason.parse(words);
            assertEquals(true, read.byIntent(), words);
            assertEquals(words, read.words());
        }
        for (Reason rule : Reason.Rule.values()) {
            assertEquals(rule, Reason.parse(rule.words()));
        }
        assertEquals(new Reason.OtherDriver("470.256.02"), Reason.parse(INTENDED.get(3)));
        assertEquals(new Reason.OtherThreading("2.2.5"), Reason.parse(INTENDED.get(4)));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "not a regular file",
                "this link leads in a circle",
                "the loader takes /usr/lib64/libcuda.so.1 instead",
                "names itself a module of the X server",
                "a module of the X server, and something that no release has written"
            })
    void anythingElseIsAFault(String words) {
        assertEquals(new Reason.Fault(words), Reason.parse(words));
        assertEquals(false, Reason.parse(words).byIntent());
    }
}
