package jnvdocker.words;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.util.List;
import java.util.stream.Stream;

class IndicesTest {
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "0 | 0",
                "0 1 | 0,1",
                "0 2 | 0,2",
                "0 1 2 | 0-2",
                "0 1 2 3 4 5 6 7 | 0-7",
                "0 1 2 5 | 0-2,5",
                "0 1 5 6 7 9 | 0,1,5-7,9",
                "7 0 6 1 5 | 0,1,5-7",
                "3 3 4 | 3,4",
                "98 99 100 | 98-100"
            })
    void threeOrMoreInARowAreARange(String indices, String text) {
        assertEquals(text, Indices.text(Stream.of(indices.split(" ")).map(Integer::valueOf)));
    }

    @Test
    void idsThatWereTypedAreShownLikewiseIfTheyAreIndices() {
        assertEquals("0-2", Indices.typed(List.of("0", "2", "1")));
        assertEquals("1, GPU-5c1a", Indices.typed(List.of("1", "GPU-5c1a")));
        assertEquals("0, 99999999999", Indices.typed(List.of("0", "99999999999")));
        assertEquals("GPU-5c1a", Indices.typed(List.of("GPU-5c1a")));
    }

    @Test
    void partsComeAfterWholeGpus() {
        assertEquals("0-2,3:0,3:1", Indices.numbers(Stream.of("0", "1", "2", "3:0", "3:1")));
        assertEquals("3:1", Indices.numbers(Stream.of("3:1", "3:1")));
        assertEquals("", Indices.numbers(Stream.of()));
    }

    @Test
    void noneIsNothing() {
        assertEquals("", Indices.text(Stream.of()));
    }
}
