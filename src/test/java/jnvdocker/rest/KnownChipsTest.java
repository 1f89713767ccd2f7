package jnvdocker.rest;

import static org.junit.jupiter.api.Assertions.assertEquals;

import jnvdocker.nvml.GpuFacts.ComputeCapability;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.util.Optional;

class KnownChipsTest {
    @ParameterizedTest
    @CsvSource({
        "Tesla K40m, 2880",
        "NVIDIA A10, 9216",
        "NVIDIA A100-SXM4-40GB, 6912",
        "NVIDIA A100 80GB PCIe, 6912",
        "Tesla P100-PCIE-12GB, 3584",
        "Tesla P40, 3840",
        "Tesla P4, 2560",
        "NVIDIA L40S, 18176",
        "NVIDIA H100 PCIe, 14592",
        "NVIDIA H100 80GB HBM3, 16896"
    })
    void modelIsThatOfTheDriversName(String name, int cores) {
        assertEquals(Optional.of(cores), KnownChips.model(name).map(KnownChips.Model::cores));
    }

    @ParameterizedTest
    @CsvSource({"NVIDIA A10G", "NVIDIA A100X", "NVIDIA GeForce RTX 3090", "T400", "''"})
    void otherModelsAreUnknown(String name) {
        assertEquals(Optional.empty(), KnownChips.model(name));
    }

    @ParameterizedTest
    @CsvSource({
        "3, 5, Kepler",
        "7, 0, Volta",
        "7, 2, Volta",
        "7, 5, Turing",
        "8, 6, Ampere",
        "8, 9, Ada",
        "9, 0, Hopper",
        "10, 0, Blackwell",
        "12, 0, Blackwell"
    })
    void familyIsThatOfTheComputeCapability(int major, int minor, String family) {
        assertEquals(Optional.of(family), KnownChips.family(new ComputeCapability(major, minor)));
    }

    @Test
    void newerChipsAreUnknown() {
        ComputeCapability next = new ComputeCapability(99, 0);
        assertEquals(Optional.empty(), KnownChips.family(next));
        assertEquals(Optional.empty(), KnownChips.shared(next));
    }
}
