package jnvdocker.labels;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.util.Arrays;
import java.util.List;
import java.util.Map;

class GpuNeedsCheckTest {
    private static final String ALL = "NVIDIA_VISIBLE_DEVICES=all";
    private static final String SKIP = ", or NVIDIA_DISABLE_REQUIRE=1";
    private static final String HOPELESS = "no known driver would do; use another image" + SKIP;
    private static final DriverFacts HOST = Images.driver("535.104.05");

    @Test
    void labelBeyondTheDriverIsRefused() throws Exception {
        assertEquals(
                "unsupported CUDA version: driver 12.2 < image 12.4; use driver 550 or newer"
                        + " (535.104.05 is loaded), an older image"
                        + SKIP,
                refusal(label("12.4"), HOST));
        assertEquals(
                "unsupported CUDA version: driver 12.2 < image 99.0; " + HOPELESS,
                refusal(label("99.0"), HOST));
    }

    @ParameterizedTest
    @ValueSource(strings = {"12.2", "12.2.140", "12", "9.0.176", ""})
    void labelWithinTheDriverPasses(String cuda) throws Exception {
        assertEquals(List.of(), label(cuda).check(HOST));
    }

    @Test
    void unknownCudaVersionPassesAndIsSaid() throws Exception {
        DriverFacts unknown = DriverFacts.of(DriverVersion.parse("700.10"));
        assertEquals(
                List.of(
                        new Unchecked(
                                "cuda>=99.0 (label com.nvidia.cuda.version)", "cuda is unknown")),
                label("99.0").check(unknown));
        assertEquals(
                List.of(
                        "cuda>=12.4 (NVIDIA_REQUIRE_CUDA of the image) was not checked:"
                                + " cuda is unknown"),
                messages(needs("NVIDIA_REQUIRE_CUDA=" + Images.requireCuda124()), unknown));
    }

    /** A newer minor version of CUDA runs with the driver's own libraries. */
    @Test
    void newerMajorVersionOfCudaRestsOnTheImagesLibraries() throws Exception {
        GpuNeeds needs = needs("NVIDIA_REQUIRE_CUDA=" + Images.requireCuda124());
        DriverFacts old = Images.driver("470.256.02").withBrand("tesla");
        assertEquals(List.of(), needs.check(old));
        assertEquals(List.of(), needs.check(old.withCompat(true)));
        assertEquals(
                "unsatisfied condition: cuda>=12.4 (cuda is 11.4; NVIDIA_REQUIRE_CUDA of the"
                    + " image), and no cuda-compat of the image is in use; use driver 550 or newer"
                    + " (470.256.02 is loaded), an older image"
                        + SKIP,
                refusal(needs, old.withCompat(false)));
        DriverFacts minor = Images.driver("535.104.05").withBrand("tesla");
        assertEquals(List.of(), needs.check(minor.withCompat(false)));
        assertEquals(List.of(), needs.check(Images.driver("550.54.15").withCompat(false)));
        assertEquals(
                List.of(),
                needs("NVIDIA_REQUIRE_CUDA=cuda>=12.4 cuda>=11.0,driver>=470")
                        .check(old.withCompat(false)));
        assertEquals(List.of(), needs("NVIDIA_REQUIRE_X=driver>=470").check(old.withCompat(false)));
    }

    /** As NVIDIA's runtime reads its images of 2016 to 2018. */
    @Test
    void cudaVersionIsRequiredWhereNothingElseSaysWhich() throws Exception {
        ImageConfig image = new ImageConfig(Map.of(), Map.of("CUDA_VERSION", "99.0.1"));
        assertEquals(true, GpuNeeds.of(image).implied());
        assertEquals(false, GpuNeeds.of(image).gpus());
        assertEquals(
                "unsupported CUDA version: driver 12.2 < image 99.0; " + HOPELESS,
                refusal(GpuNeeds.withGpus(image, Map.of()), HOST));
        assertEquals(
                List.of(), needs("CUDA_VERSION=9.0", "NVIDIA_VISIBLE_DEVICES=all").check(HOST));
        GpuNeeds required = needs("CUDA_VERSION=99.0", "NVIDIA_REQUIRE_CUDA=cuda>=9.0");
        assertEquals(List.of(), required.check(HOST));
        assertEquals(false, required.implied());
    }

    /** A Dockerfile whose ARG has no value, or whose template was never filled in. */
    @ParameterizedTest
    @ValueSource(
            strings = {"${CUDA_VERSION}", "$CUDA_VERSION", "${CUDA_VERSION:-99.0}", "99.$MINOR"})
    void labelWithAVariableIsNotCheckedAndThisIsSaid(String cuda) throws Exception {
        assertEquals(
                List.of(
                        "label com.nvidia.cuda.version="
                                + cuda
                                + " was not checked: the build of the image has not expanded the"
                                + " variable"),
                messages(label(cuda), HOST));
    }

    @Test
    void severalUnknownFactsAreSaidTogether() throws Exception {
        assertEquals(
                List.of(
                        "arch>=9,brand=tesla (NVIDIA_REQUIRE_X of the image) was not checked:"
                                + " arch and brand are unknown"),
                messages(needs("NVIDIA_REQUIRE_X=driver>=535,arch>=9,brand=tesla"), HOST));
    }

    @ParameterizedTest
    @ValueSource(strings = {"470.256.02", "525.147.05", "535.261.03"})
    void forwardCompatibleDriverRunsTheCudaImage(String driver) throws Exception {
        GpuNeeds needs = needs("NVIDIA_REQUIRE_CUDA=" + Images.requireCuda124());
        assertEquals(
                List.of(
                        "brand=tesla (NVIDIA_REQUIRE_CUDA of the image) was not checked:"
                                + " brand is unknown"),
                messages(needs, Images.driver(driver)));
        assertEquals(List.of(), needs.check(Images.driver(driver).withBrand("GeForce")));
    }

    @Test
    void newEnoughDriverRunsTheCudaImage() throws Exception {
        GpuNeeds needs = needs("NVIDIA_REQUIRE_CUDA=" + Images.requireCuda124());
        assertEquals(List.of(), needs.check(Images.driver("550.163.01")));
        assertEquals(List.of(), needs.check(Images.driver("615.71.09").withBrand("grid")));
    }

    @Test
    void driverOfNoListedBranchDoesNot() throws Exception {
        GpuNeeds needs = needs("NVIDIA_REQUIRE_CUDA=" + Images.requireCuda124());
        assertEquals(
                "unsatisfied condition: cuda>=12.4 (cuda is 12.1; NVIDIA_REQUIRE_CUDA of the image;"
                        + " 30 other alternatives fail too); use driver 550 or newer (530.30.02 is"
                        + " loaded), an older image"
                        + SKIP,
                refusal(needs, Images.driver("530.30.02")));
        assertEquals(
                "unsatisfied condition: cuda>=12.4 (cuda is 12.2; NVIDIA_REQUIRE_CUDA of the image;"
                        + " 30 other alternatives fail too); use driver 550 or newer (535.104.05 is"
                        + " loaded), an older image"
                        + SKIP,
                refusal(needs, HOST.withBrand("Grid")));
    }

    @Test
    void requireCudaDecidesAndNotTheLabel() throws Exception {
        Map<String, String> label = Map.of("com.nvidia.cuda.version", "99.0");
        ImageConfig image = ImageConfig.of(label, List.of(ALL, "NVIDIA_REQUIRE_CUDA=cuda>=12.0"));
        assertEquals(List.of(), GpuNeeds.of(image).check(HOST));
        ImageConfig other = ImageConfig.of(label, List.of(ALL, "NVIDIA_REQUIRE_X=cuda>=12.0"));
        assertThrows(UnmetNeedException.class, () -> GpuNeeds.of(other).check(HOST));
        assertThrows(
                UnmetNeedException.class,
                () -> GpuNeeds.of(image, Map.of("NVIDIA_REQUIRE_CUDA", "")).check(HOST));
    }

    @Test
    void singleRequirementNamesOnlyWhatFails() throws Exception {
        assertEquals(
                "unsatisfied condition: cuda>=12.8,driver!=535.104.5 (cuda is 12.2, driver is"
                        + " 535.104.05; NVIDIA_REQUIRE_CUDA of the image); use driver 570 or newer"
                        + " (535.104.05 is loaded), an older image"
                        + SKIP,
                refusal(
                        needs("NVIDIA_REQUIRE_CUDA=cuda>=12.8,driver>=500,driver!=535.104.5"),
                        HOST));
    }

    @Test
    void everyVariableCounts() throws Exception {
        assertEquals(
                "unsatisfied condition: arch>=9.0 (arch is 8.6; NVIDIA_REQUIRE_GPU of the command"
                        + " line; 1 other alternative fails too); "
                        + HOPELESS,
                refusal(
                        GpuNeeds.of(
                                Images.withEnv(ALL, "NVIDIA_REQUIRE_CUDA=cuda>=12"),
                                Map.of("NVIDIA_REQUIRE_GPU", "arch>=9.0 brand=tesla")),
                        HOST.withArch("8.6").withBrand("geforce")));
    }

    @Test
    void suggestedDriverMeetsEveryNeed() throws Exception {
        assertEquals(
                "unsatisfied condition: cuda>=12.4 (cuda is 12.2; NVIDIA_REQUIRE_CUDA of the"
                        + " image); use driver 580 or newer (535.104.05 is loaded), an older image"
                        + SKIP,
                refusal(
                        needs("NVIDIA_REQUIRE_CUDA=cuda>=12.4", "NVIDIA_REQUIRE_D=driver>=575.51"),
                        HOST));
        assertEquals(
                "unsatisfied condition: driver<471 (driver is 535.104.05; NVIDIA_REQUIRE_D of the"
                        + " image); "
                        + HOPELESS,
                refusal(needs("NVIDIA_REQUIRE_D=driver>=470,driver<471"), HOST));
    }

    @Test
    void messageOfALongAlternativeIsBounded() throws Exception {
        String message =
                refusal(
                        needs("NVIDIA_REQUIRE_X=" + "brand=\u001b[31m,".repeat(3000)),
                        knownBrand());
        assertEquals(
                "unsatisfied condition: brand=\\u{1b}[31m,brand=\\u{1b}[31m,brand=\\u{1b}[31m,"
                        + "brand=\\u{1b}[31m,… (brand is geforce; NVIDIA_REQUIRE_X of the image);"
                        + " "
                        + HOPELESS,
                message);
    }

    private static DriverFacts knownBrand() {
        return HOST.withBrand("geforce");
    }

    private static GpuNeeds label(String cuda) throws BadImageException {
        return GpuNeeds.of(Images.withLabels("nvidia_driver", cuda));
    }

    private static GpuNeeds needs(String... variables) throws BadImageException {
        String[] env = Arrays.copyOf(variables, variables.length + 1);
        env[variables.length] = ALL;
        return GpuNeeds.of(Images.withEnv(env));
    }

    private static List<String> messages(GpuNeeds needs, DriverFacts facts)
            throws UnmetNeedException {
        return needs.check(facts).stream().map(Unchecked::message).toList();
    }

    private static String refusal(GpuNeeds needs, DriverFacts facts) {
        return assertThrows(UnmetNeedException.class, () -> needs.check(facts)).getMessage();
    }
}
