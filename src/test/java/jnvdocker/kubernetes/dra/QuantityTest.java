package jnvdocker.kubernetes.dra;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.util.Optional;

/** Amounts in objects of Kubernetes. */
class QuantityTest {
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
        assertEquals(quantity, Quantity.of(bytes));
        assertEquals(Optional.of(bytes), Quantity.parse(quantity));
    }

    @ParameterizedTest
    @CsvSource({
        "10G, 10000000000",
        "1.5Gi, 1610612736",
        "2500M, 2500000000",
        "3k, 3000",
        "1T, 1000000000000",
        "0.5, ",
        "1.0001k, ",
        "9223372036854775808, ",
        "9999999999999999999Ti, ",
        "-1, ",
        "1e3, ",
        "100m, ",
        "10GiB, ",
        "'', ",
    })
    void wholeBytesAreRead(String quantity, Long bytes) {
        assertEquals(Optional.ofNullable(bytes), Quantity.parse(quantity));
    }
}
