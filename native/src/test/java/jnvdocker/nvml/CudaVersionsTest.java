package jnvdocker.nvml;

import static org.junit.jupiter.api.Assertions.assertEquals;

import jnvdocker.labels.CudaVersion;
import jnvdocker.labels.DriverVersion;

import org.junit.jupiter.api.Test;

import java.util.Optional;

class CudaVersionsTest {
    private static final DriverVersion KNOWN = DriverVersion.parse("535.104.05");
    private static final DriverVersion UNHEARD_OF = DriverVersion.parse("999.10");
    private static final CudaVersion REPORTED = CudaVersion.parse("12.9");

    private static CudaVersions reported(DriverVersion driver) {
        return new CudaVersions(() -> Optional.of(new CudaVersions.Reported(driver, REPORTED)));
    }

    @Test
    void nvmlCountsMoreThanTheTable() {
        assertEquals(Optional.of(REPORTED), reported(KNOWN).of(KNOWN));
        assertEquals(Optional.of(REPORTED), reported(UNHEARD_OF).of(UNHEARD_OF));
        assertEquals(Optional.of(REPORTED), reported(KNOWN).facts(KNOWN).cuda());
    }

    @Test
    void nvmlsWordOnAnotherDriverDoesNotCount() {
        assertEquals(Optional.of(CudaVersion.parse("12.2")), reported(UNHEARD_OF).of(KNOWN));
        assertEquals(Optional.empty(), reported(KNOWN).of(UNHEARD_OF));
    }

    @Test
    void tableCountsWhereNvmlIsSilent() {
        CudaVersions silent = new CudaVersions(Optional::empty);
        assertEquals(Optional.of(CudaVersion.parse("12.2")), silent.of(KNOWN));
        assertEquals(Optional.empty(), silent.of(UNHEARD_OF));
    }
}
