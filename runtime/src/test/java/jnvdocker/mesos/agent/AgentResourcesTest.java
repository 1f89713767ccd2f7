package jnvdocker.mesos.agent;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.words.RefusedException;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.util.List;

class AgentResourcesTest {
    @Test
    void otherResourcesAreKept() throws RefusedException {
        String text = "cpus:4;mem:1024;ports:[31000-32000, 33000-33001];disk(ads):10;bugs(a):{b,c}";
        assertEquals(text, AgentResources.parse(text).toString());
        assertEquals(text + ";gpus:2", AgentResources.parse(text).withGpus(2).toString());
        assertEquals("gpus:0", AgentResources.parse(" ").withGpus(0).toString());
        assertFalse(AgentResources.parse(text).saysGpus());
    }

    @Test
    void emptyPartsAreNone() throws RefusedException {
        assertEquals("cpus:4;mem:8", AgentResources.parse(";cpus:4;; mem:8;\n").toString());
    }

    @Test
    void gpusAreReplacedAndKeepTheirRole() throws RefusedException {
        AgentResources plain = AgentResources.parse("gpus:3;cpus:4");
        assertEquals("cpus:4;gpus:2", plain.withGpus(2).toString());
        AgentResources reserved = AgentResources.parse("cpus:4; gpus(research) : 3");
        assertTrue(reserved.saysGpus());
        assertEquals(3, reserved.gpus());
        assertEquals("cpus:4;gpus(research):2", reserved.withGpus(2).toString());
        assertEquals(
                "cpus:4;gpu_uuids(research):{GPU-a,GPU-b}",
                reserved.withUuids(List.of("GPU-a", "GPU-b")).toString());
    }

    @ParameterizedTest
    @CsvSource({
        "gpus:0, 0",
        "gpus:2, 2",
        "gpus:2.0, 2",
        "gpus:2.0004, 2",
        "gpus:1;gpus(a):2, 3",
        "gpus:0.5;gpus(a):1.5, 2",
        "gpus:999999999, 999999999"
    })
    void gpusOfAllRolesCountAndThreeDecimals(String text, int count) throws RefusedException {
        assertEquals(count, AgentResources.parse(text).gpus());
        assertEquals(text.contains("("), AgentResources.parse(text).sharesGpus());
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "1.5",
                "0.001",
                "-1",
                "two",
                "{GPU-a}",
                "[0-1]",
                "1e3",
                "99999999999",
                "NaN"
            })
    void anythingElseIsNoNumberOfGpus(String value) throws RefusedException {
        AgentResources resources = AgentResources.parse("gpus:" + value);
        assertEquals(
                "invalid agent flags: The 'gpus' resource must be an non-negative integer; write a"
                        + " whole number in 'gpus:"
                        + value
                        + "'",
                assertThrows(RefusedException.class, resources::gpus).getMessage());
    }

    @ParameterizedTest
    @CsvSource({
        "cpus, missing or extra ':' in cpus",
        "cpus:, missing or extra ':' in cpus:",
        "cpus:1:2, missing or extra ':' in cpus:1:2",
        "mem:1;cpus(a:1, mismatched parentheses in cpus(a:1",
        "cpus)a(:1, mismatched parentheses in cpus)a(:1"
    })
    void textThatMesosWouldRefuseIsRefused(String text, String why) {
        assertEquals(
                "bad value for resources, " + why + "; write name:value;… or name(role):value;…",
                refusal(text));
    }

    @Test
    void jsonAndFilesAreRefusedWithAWayOut() {
        assertTrue(refusal(" [{\"name\": \"cpus\"}]").startsWith("--resources in JSON"));
        assertTrue(
                refusal("file:///etc/r").startsWith("--resources names a file, 'file:///etc/r'"));
        assertTrue(refusal("/etc/r").startsWith("--resources names a file, '/etc/r'"));
        assertTrue(
                refusal("gpu_uuids(a):{x}")
                        .startsWith("gpu_uuids in --resources is not supported"));
    }

    private static String refusal(String text) {
        return assertThrows(RefusedException.class, () -> AgentResources.parse(text)).getMessage();
    }
}
