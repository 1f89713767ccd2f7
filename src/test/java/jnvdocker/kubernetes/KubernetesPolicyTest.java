package jnvdocker.kubernetes;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.host.Gpu;
import jnvdocker.words.InvalidValueException;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.util.List;
import java.util.Optional;

/** The names that manifests use. */
class KubernetesPolicyTest {
    private static final KubernetesPolicy PER_MODEL =
            new KubernetesPolicy(
                    true,
                    "lab.example/gpu",
                    true,
                    KubernetesPolicy.KUBELET_DIRECTORY,
                    true,
                    List.of(),
                    Optional.empty());

    @ParameterizedTest
    @ValueSource(
            strings = {
                "nvidia.com/gpu",
                "nvidia.com/gpu.shared",
                "lab/GPU_1",
                "a-b.c/1",
                "x.io/a-b.c_d"
            })
    void nameOfAnExtendedResource(String name) {
        assertEquals(name, KubernetesPolicy.checkResource(name));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "gpu",
                "/gpu",
                "nvidia.com/",
                "nvidia.com/gpu/1",
                "nvidia.com/-gpu",
                "NVIDIA.com/gpu",
                "nvidia..com/gpu",
                "kubernetes.io/gpu",
                "node.kubernetes.io/gpu",
                "requests.nvidia.com/gpu",
                "nvidia.com/gpu\n",
                "nvidia.com/../x"
            })
    void anyOtherNameIsRefused(String name) {
        var e =
                assertThrows(
                        InvalidValueException.class, () -> KubernetesPolicy.checkResource(name));
        assertTrue(e.getMessage().endsWith("write a domain and a name, as nvidia.com/gpu"));
    }

    @Test
    void longNameIsRefused() {
        String domain = "abcdefg.".repeat(31);
        assertThrows(
                InvalidValueException.class,
                () -> KubernetesPolicy.checkResource(domain + "com/gpu"));
        assertThrows(
                InvalidValueException.class,
                () -> KubernetesPolicy.checkResource("nvidia.com/" + "g".repeat(64)));
    }

    @ParameterizedTest
    @CsvSource({
        "NVIDIA A100-SXM4-80GB, lab.example/a100-sxm4-80gb",
        "NVIDIA GeForce RTX 3090, lab.example/geforce-rtx-3090",
        "Tesla V100-SXM2-16GB, lab.example/tesla-v100-sxm2-16gb",
        "NVIDIA A100-SXM4-40GB MIG 1g.5gb, lab.example/a100-sxm4-40gb-mig-1g.5gb",
        "NVIDIA RTX A6000 (rev. 2), lab.example/rtx-a6000-rev.-2",
        "???, lab.example/gpu",
    })
    void eachModelHasAName(String model, String resource) {
        Gpu gpu = new Gpu(0, "GPU-1", 0, "0000:01:00.0", model);
        assertEquals(resource, PER_MODEL.resourceOf(gpu));
        assertEquals(resource, KubernetesPolicy.checkResource(resource));
    }

    @Test
    void longModelHasAShortName() {
        Gpu gpu = new Gpu(0, "GPU-1", 0, "0000:01:00.0", "NVIDIA " + "x y ".repeat(30));
        String name = PER_MODEL.resourceOf(gpu);
        assertEquals(name, KubernetesPolicy.checkResource(name));
    }
}
