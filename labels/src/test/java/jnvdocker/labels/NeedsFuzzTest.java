package jnvdocker.labels;

import static org.junit.jupiter.api.Assertions.assertTrue;

import net.jqwik.api.Arbitrary;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;

import java.util.List;
import java.util.Map;

/** The needs of any image are understood, or refused in words that fit on a screen. */
class NeedsFuzzTest {
    private static final int LONGEST_MESSAGE = 2_000;
    private static final DriverFacts HOST =
            Images.driver("535.104.05").withArch("8.6").withBrand("GeForce");

    @Property(tries = 4_000, seed = "1")
    void everyConfigurationIsReadOrRefused(@ForAll("configurations") String json) {
        try {
            check(ImageConfig.parse(json), Map.of());
        } catch (BadImageException e) {
            assertReadable(e);
        }
    }

    @Provide
    Arbitrary<String> configurations() {
        return Mutations.ofTexts(
                """
                {"config": {"Env": ["PATH=/bin", "NVIDIA_VISIBLE_DEVICES=all",
                 "NVIDIA_REQUIRE_CUDA=cuda>=12.4 brand=tesla,driver>=470,driver<471"],
                 "Labels": {"com.nvidia.volumes.needed": "nvidia_driver",
                 "com.nvidia.cuda.version": "12.4"}}}
                """,
                """
                {"config": {"Env": null, "Labels": {"com.nvidia.volumes.needed":
                 "nvidia_driver other"}}, "rootfs": {"type": "layers", "diff_ids": []}}
                """);
    }

    @Property(tries = 8_000, seed = "2")
    void everyRequirementIsCheckedOrRefused(@ForAll("requirements") String requirement) {
        Map<String, String> labels = Map.of("com.nvidia.cuda.version", requirement);
        List<String> variables =
                List.of("NVIDIA_VISIBLE_DEVICES=all", "NVIDIA_REQUIRE_CUDA=" + requirement);
        check(ImageConfig.of(labels, List.of("NVIDIA_VISIBLE_DEVICES=all")), Map.of());
        check(ImageConfig.of(Map.of(), variables), Map.of());
        check(ImageConfig.of(Map.of(), variables), Map.of("NVIDIA_REQUIRE_OTHER", requirement));
    }

    @Provide
    Arbitrary<String> requirements() {
        return Mutations.ofTexts(
                "cuda>=12.4 brand=tesla,driver>=470,driver<471 brand=unknown,driver>=535",
                "arch!=8.6,cuda<=12.2.0",
                "12.4",
                "cuda>13 driver=535.104.05 brand!=geforce");
    }

    private static void check(ImageConfig image, Map<String, String> variables) {
        try {
            for (Unchecked unchecked : GpuNeeds.of(image, variables).check(HOST)) {
                assertTrue(unchecked.message().length() < LONGEST_MESSAGE, unchecked::message);
            }
        } catch (BadImageException | UnmetNeedException e) {
            assertReadable(e);
        }
    }

    private static void assertReadable(Exception e) {
        String message = e.getMessage();
        assertTrue(message.length() < LONGEST_MESSAGE, message);
        assertTrue(message.chars().noneMatch(Character::isISOControl), message);
    }
}
