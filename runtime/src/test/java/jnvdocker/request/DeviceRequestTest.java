package jnvdocker.request;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import jnvdocker.attack.Attack;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.util.Arrays;
import java.util.List;
import java.util.Optional;

/** What docker's driver for NVIDIA's GPUs, and NVIDIA's tools, make of a request for devices. */
@Attack(
        by = "a member",
        what =
                "has docker's own driver give a container GPUs by other capabilities than"
                        + " \"gpu\", or by ids joined with commas",
        result = "seen and leased like any other request")
class DeviceRequestTest {
    private static DeviceRequest ofIds(String... ids) {
        return new DeviceRequest("", 0, Optional.of(List.of(ids)), List.of(List.of("gpu")));
    }

    /** Lists of capabilities are separated by bars. */
    @ParameterizedTest
    @CsvSource({
        "'', gpu, true",
        "'', compute utility, true",
        "nvidia, video graphics display compat32, true",
        "'', 'gpu net|utility', true",
        "'', 'gpu net', false",
        "'', net, false",
        "amd, gpu, false",
        "cdi, gpu, false",
    })
    void gpusAreOfARequestThatDockersDriverTakes(
            String driver, String capabilities, boolean ofGpus) {
        List<List<String>> lists =
                Arrays.stream(capabilities.split("\\|"))
                        .map(list -> List.of(list.split(" ")))
                        .toList();
        assertEquals(ofGpus, new DeviceRequest(driver, 1, Optional.empty(), lists).isOfGpus());
    }

    @Test
    void requestWithoutCapabilitiesIsRefusedByDocker() {
        DeviceRequest request = new DeviceRequest("nvidia", 1, Optional.empty(), List.of());
        assertEquals(false, request.isOfGpus());
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "0,1 | \"device=0,1\"",
                "' 0 ; GPU-5c1a,MIG-1 ' | \"device=0,GPU-5c1a,MIG-1\"",
                "2-4,0:1 | \"device=2,3,4,0:1\"",
                "0;all | all",
                "none | none",
                "void | none",
                "none;1 | device=1",
            })
    void idsAreReadAsNvidiasToolsReadThem(String ids, String gpus) throws Exception {
        assertEquals(gpus, ofIds(ids.split(";")).gpus().toString());
    }

    @Test
    void idsThatNameNoGpusOrTooManyAreRefused() {
        for (DeviceRequest request :
                List.of(
                        ofIds("a b/c"),
                        ofIds("x".repeat(65)),
                        ofIds("0-200", "0-200"),
                        ofIds(""),
                        ofIds(" , "))) {
            assertThrows(InvalidGpuRequestException.class, request::gpus);
        }
    }
}
