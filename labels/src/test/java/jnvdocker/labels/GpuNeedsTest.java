package jnvdocker.labels;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

class GpuNeedsTest {
    private static final String ALL = "NVIDIA_VISIBLE_DEVICES=all";

    @Test
    void imageWithoutLabelOrVariableNeedsNothing() throws Exception {
        GpuNeeds needs = GpuNeeds.of(Images.withEnv("PATH=/bin", "NVIDIA_REQUIRE_CUDA=nonsense"));
        assertFalse(needs.gpus());
        assertEquals(List.of(), needs.requirements());
        assertEquals(List.of(), needs.check(Images.driver("340.108")));
    }

    @Test
    void labelOfAnImageThatNeedsNoGpuIsNotRead() throws Exception {
        assertFalse(GpuNeeds.of(Images.withLabels(" ", "nonsense")).dependOnCuda());
    }

    @Test
    void cudaMattersToTheLabelAndToConditionsOnIt() throws Exception {
        assertTrue(GpuNeeds.of(Images.withLabels("nvidia_driver", "8.0")).dependOnCuda());
        assertTrue(dependOnCuda("NVIDIA_REQUIRE_CUDA=driver>=470 brand=tesla,cuda>=12.4"));
        assertTrue(dependOnCuda("NVIDIA_REQUIRE_X=CUDA<13"));
        assertFalse(dependOnCuda("NVIDIA_REQUIRE_CUDA=driver>=470"));
        assertFalse(dependOnCuda("NVIDIA_REQUIRE_CUDA=cuda>=12.4", "NVIDIA_DISABLE_REQUIRE=1"));
        assertFalse(dependOnCuda());
    }

    private static boolean dependOnCuda(String... env) throws BadImageException {
        List<String> all = new ArrayList<>(List.of(env));
        all.add("NVIDIA_VISIBLE_DEVICES=all");
        return GpuNeeds.of(Images.withEnv(all.toArray(String[]::new))).dependOnCuda();
    }

    @ParameterizedTest
    @ValueSource(strings = {"nvidia_driver", " nvidia_driver ", "nvidia_driver nvidia_driver"})
    void labelAsksForTheDriver(String volumes) throws Exception {
        GpuNeeds needs = GpuNeeds.of(Images.withLabels(volumes, "8.0"));
        assertTrue(needs.gpus());
        assertEquals(1, needs.unmetBy(Images.driver("352.79")).size());
        assertEquals(List.of(), needs.unmetBy(Images.driver("367.57")));
    }

    @ParameterizedTest
    @CsvSource({
        "all,true",
        "0,true",
        "GPU-8f1a,true",
        "none,true",
        "'',false",
        "void,false",
        "' ,',false",
        "'0,void',false",
        "' void ',false",
        "devoid,true",
    })
    void variableAsksForTheDriver(String devices, boolean needed) throws Exception {
        GpuNeeds needs = GpuNeeds.of(Images.withEnv("NVIDIA_VISIBLE_DEVICES=" + devices));
        assertEquals(needed, needs.gpus());
        assertEquals(devices.equals("none"), needs.driverAlone());
    }

    @Test
    void unknownVolumeIsRefused() {
        assertEquals(
                "unsupported volume: cuda_files (label com.nvidia.volumes.needed);"
                        + " jnvdocker knows nvidia_driver",
                refusal(Images.withLabels("nvidia_driver cuda_files", "8.0")));
    }

    @ParameterizedTest
    @CsvSource({
        "1,true",
        "t,true",
        "T,true",
        "true,true",
        "True,true",
        "TRUE,true",
        "0,false",
        "'',false",
        "yes,false",
        "tRue,false",
        "'1 ',false",
    })
    void requireIsDisabledByGosSpellingsOfTrue(String value, boolean disabled) throws Exception {
        ImageConfig image =
                Images.withEnv(
                        ALL, "NVIDIA_DISABLE_REQUIRE=" + value, "NVIDIA_REQUIRE_CUDA=cuda>=1");
        assertEquals(disabled, GpuNeeds.of(image).requireDisabled());
        assertEquals(disabled ? 0 : 1, GpuNeeds.of(image).requirements().size());
    }

    @Test
    void disablingSkipsLabelAndMalformedRequirementsToo() throws Exception {
        Map<String, String> userEnv = Map.of("NVIDIA_DISABLE_REQUIRE", "1");
        assertEquals(
                List.of(),
                GpuNeeds.of(Images.withLabels("nvidia_driver", "99.0"), userEnv)
                        .check(Images.driver("535.104.05")));
        assertTrue(
                GpuNeeds.of(Images.withEnv(ALL, "NVIDIA_REQUIRE_GPU=gpu>=3"), userEnv)
                        .requireDisabled());
    }

    @Test
    void userReplacesAddsAndTakesAway() throws Exception {
        ImageConfig image =
                Images.withEnv(
                        ALL,
                        "NVIDIA_DISABLE_REQUIRE=1",
                        "NVIDIA_REQUIRE_B=cuda>=99",
                        "NVIDIA_REQUIRE_A=cuda>=99",
                        "NVIDIA_REQUIRE_C=arch>=5");
        Map<String, String> userEnv = new LinkedHashMap<>();
        userEnv.put("NVIDIA_DISABLE_REQUIRE", "0");
        userEnv.put("NVIDIA_REQUIRE_D", "driver>=400");
        userEnv.put("NVIDIA_REQUIRE_B", "cuda>=12");
        userEnv.put("NVIDIA_REQUIRE_A", null);
        userEnv.put("NVIDIA_VISIBLE_DEVICES", "void");
        GpuNeeds needs = GpuNeeds.of(image, userEnv);
        assertEquals(
                List.of(
                        "NVIDIA_REQUIRE_B of the command line",
                        "NVIDIA_REQUIRE_C of the image",
                        "NVIDIA_REQUIRE_D of the command line"),
                needs.requirements().stream().map(NamedRequirement::where).toList());
        needs.check(Images.driver("535.104.05"));
    }

    @Test
    void jetpackAndEmptyRequirementsAreSkipped() throws Exception {
        GpuNeeds needs =
                GpuNeeds.of(
                        Images.withEnv(
                                ALL,
                                "NVIDIA_REQUIRE_JETPACK=csv-mounts=all",
                                "NVIDIA_REQUIRE_JETPACK_HOST_MOUNTS=x",
                                "NVIDIA_REQUIRE_CUDA=",
                                "NVIDIA_REQUIRE_X= , "));
        assertEquals(List.of(), needs.requirements());
    }

    @Test
    void malformedNeedSaysWhereItStands() {
        assertEquals(
                "not a CUDA version: '12.x' (label com.nvidia.cuda.version); set"
                        + " NVIDIA_DISABLE_REQUIRE=1",
                refusal(Images.withLabels("nvidia_driver", "12.x")));
        assertEquals(
                "invalid expression 'gpu>=3': known are cuda, driver, arch and brand"
                        + " (NVIDIA_REQUIRE_GPU of the image); set NVIDIA_DISABLE_REQUIRE=1",
                refusal(Images.withEnv(ALL, "NVIDIA_REQUIRE_GPU=cuda>=1 gpu>=3")));
    }

    @Test
    void onlyValuesThatAreReadAreBounded() throws Exception {
        String large = "x".repeat(64 * 1024 + 1);
        GpuNeeds.of(Images.withEnv("LICENSE=" + large, "NVIDIA_REQUIRE_X=" + large));
        GpuNeeds.of(ImageConfig.of(Map.of("license", large), List.of(ALL)));
        assertEquals(
                "variable NVIDIA_REQUIRE_X of the image has 65537 characters,"
                        + " at most 65536 are read; shorten it",
                refusal(Images.withEnv(ALL, "NVIDIA_REQUIRE_X=" + large)));
        assertEquals(
                "label com.nvidia.volumes.needed has 65537 characters,"
                        + " at most 65536 are read; shorten it",
                refusal(Images.withLabels(large, "8.0")));
        List<String> many = new ArrayList<>(List.of(ALL));
        for (int i = 0; i < 33; i++) {
            many.add("NVIDIA_REQUIRE_" + i + "=cuda>=1");
        }
        assertEquals(
                "more than 32 variables NVIDIA_REQUIRE_*; set NVIDIA_DISABLE_REQUIRE=1",
                refusal(ImageConfig.of(null, many)));
    }

    private static String refusal(ImageConfig image) {
        return assertThrows(BadImageException.class, () -> GpuNeeds.of(image)).getMessage();
    }
}
