package jnvdocker.request;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.util.List;
import java.util.Optional;

final class CsvLineTest {
    @Test
    void quotesGoRoundAWholeField() {
        assertEquals(
                fields("a", "b,c", "d\"e", "", ""), CsvLine.parse("a,\"b,c\",\"d\"\"e\",\"\","));
        assertEquals(fields("\""), CsvLine.parse("\"\"\"\""));
        assertEquals(fields(" a", "b "), CsvLine.parse(" a,b "));
    }

    @Test
    void onlyTheFirstRecordCounts() {
        assertEquals(fields("a", "b"), CsvLine.parse("\n\r\na,b\r\n\"c"));
        assertEquals(fields("a\nb", "c"), CsvLine.parse("\"a\nb\",c\nd"));
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "\n", "a\"b", "a,\"b", "\"a\"b", "\"a\" ,b", "\"a\"\""})
    void otherQuotesAreErrors(String text) {
        assertEquals(Optional.empty(), CsvLine.parse(text));
    }

    private static Optional<List<String>> fields(String... fields) {
        return Optional.of(List.of(fields));
    }
}
