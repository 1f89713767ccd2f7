package jnvdocker.request;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.util.Optional;

/** Models are distinguished, and memory is counted as in the names of models. */
class GpuFilterTest {
    @ParameterizedTest
    @CsvSource({
        "A100, NVIDIA A100-SXM4-40GB, true",
        "a100-sxm4, NVIDIA A100-SXM4-40GB, true",
        "A10, NVIDIA A100-SXM4-40GB, false",
        "A10, NVIDIA A10, true",
        "A10, NVIDIA A10G, true",
        "00, NVIDIA A100, false",
        "L4, NVIDIA L40S, false",
        "L40, NVIDIA L40S, true",
        "T4, Tesla T4, true",
        "tesla, Tesla T4, true",
        "RTX 3090, NVIDIA GeForce RTX 3090 Ti, true",
        "RTX3090, NVIDIA GeForce RTX 3090 Ti, false",
        "4, Tesla T4 4, true",
        "H100, ?, false",
    })
    void modelIsAPartOfTheName(String part, String name, boolean allowed) {
        assertEquals(
                allowed,
                new GpuFilter(Optional.empty(), Optional.of(part), Optional.empty())
                        .allowsModel(name));
    }

    @Test
    void gigabytesAreThoseOfTheNames() {
        assertEquals(80_000_000_000L, MemorySize.parse("80G").orElseThrow().bytes());
        assertEquals(80L << 30, MemorySize.parse("80GiB").orElseThrow().bytes());
        assertEquals(500_000_000L, MemorySize.parse("500mb").orElseThrow().bytes());
        assertEquals(500L << 20, MemorySize.parse("500mi").orElseThrow().bytes());
        assertEquals("80 GB", MemorySize.parse("80g").orElseThrow().words());
        assertEquals("80 GiB", MemorySize.parse("80GIB").orElseThrow().words());
        assertEquals(Optional.empty(), MemorySize.parse("80"));
    }
}
