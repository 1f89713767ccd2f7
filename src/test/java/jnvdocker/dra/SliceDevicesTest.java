package jnvdocker.dra;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.io.IOException;

/** Values in resource slices, which the API server takes only in certain forms. */
class SliceDevicesTest {
    @ParameterizedTest
    @CsvSource({
        "0, 0",
        "1000, 1000",
        "2048, 2Ki",
        "42949672960, 40Gi",
        "85520809984, 81559Mi",
        "1099511627776, 1Ti",
    })
    void bytesAreWrittenAsTheServerItselfWritesThem(long bytes, String quantity) {
        assertEquals(quantity, SliceDevices.quantity(bytes));
    }

    @ParameterizedTest
    @CsvSource({
        "535.104.05, 535.104.5",
        "470.42.01, 470.42.1",
        "12.2, 12.2.0",
        "550, 550.0.0",
        "1.2.3.4, ''",
        "535.x, ''",
    })
    void versionsHaveThreeNumbersWithoutLeadingZeros(String version, String semantic) {
        assertEquals(semantic, SliceDevices.semantic(version).orElse(""));
    }

    @Test
    void timeThatTheServerHasAddedIsNoDifference() throws IOException {
        String written =
                "[{\"name\": \"gpu-1\", \"taints\": [{\"key\": \"k\", \"value\": \"held\"}]}]";
        String stored = written.replace("\"held\"", "\"held\", \"timeAdded\": \"now\"");
        assertTrue(SliceDevices.areSame(ApiServer.tree(written), ApiServer.tree(stored)));
        assertFalse(
                SliceDevices.areSame(
                        ApiServer.tree(written), ApiServer.tree(stored.replace("held", "sick"))));
    }
}
