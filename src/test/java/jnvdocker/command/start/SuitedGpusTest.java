package jnvdocker.command.start;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import jnvdocker.host.Gpu;
import jnvdocker.labels.DriverFacts;
import jnvdocker.labels.DriverVersion;
import jnvdocker.labels.GpuNeeds;
import jnvdocker.labels.ImageConfig;
import jnvdocker.labels.Unchecked;
import jnvdocker.nvml.GpuFacts;
import jnvdocker.nvml.GpuFacts.Brand;
import jnvdocker.nvml.GpuFacts.Chip;
import jnvdocker.nvml.GpuFacts.Clocks;
import jnvdocker.nvml.GpuFacts.ComputeCapability;
import jnvdocker.nvml.GpuFacts.PcieLink;
import jnvdocker.request.GpuRequest;
import jnvdocker.words.RefusedException;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.Set;

/** Conditions on arch and brand are decided for each GPU by NVML's facts about it. */
class SuitedGpusTest {
    private static final Gpu GEFORCE = gpu(0, "GPU-0f3e0000-98c2-11ee-b9d1-0242ac120002");
    private static final Gpu A100 = gpu(1, "GPU-3a910001-98c2-11ee-b9d1-0242ac120002");
    private static final List<Gpu> BOTH = List.of(GEFORCE, A100);
    private static final Map<Gpu, GpuFacts> REPORTED =
            Map.of(
                    GEFORCE,
                    facts(Brand.GEFORCE_RTX, new ComputeCapability(8, 6)),
                    A100,
                    facts(Brand.NVIDIA, new ComputeCapability(8, 0)));
    private static final GpuRequest ALL = new GpuRequest.All();

    private static Gpu gpu(int index, String uuid) {
        return new Gpu(index, uuid, index, "0000:0" + index + ":00.0", "a GPU");
    }

    private static GpuFacts facts(Brand brand, ComputeCapability arch) {
        return new GpuFacts(
                "GPU-?",
                "a GPU",
                Optional.of(brand),
                Optional.empty(),
                Optional.of(arch),
                OptionalInt.empty(),
                OptionalLong.empty(),
                OptionalLong.empty(),
                OptionalInt.empty(),
                new Clocks(OptionalInt.empty(), OptionalInt.empty(), OptionalInt.empty()),
                new PcieLink(OptionalInt.empty(), OptionalInt.empty()),
                new Chip(OptionalInt.empty(), OptionalInt.empty()));
    }

    private static SuitedGpus of(String requirement, Map<Gpu, GpuFacts> reported) throws Exception {
        ImageConfig image =
                ImageConfig.of(
                        Map.of(),
                        List.of("NVIDIA_VISIBLE_DEVICES=all", "NVIDIA_REQUIRE_X=" + requirement));
        return new SuitedGpus(
                GpuNeeds.of(image),
                DriverFacts.of(DriverVersion.parse("535.261.03")),
                BOTH,
                gpu -> Optional.ofNullable(reported.get(gpu)));
    }

    /** The words of the images' own {@code NVIDIA_REQUIRE_CUDA}, as of CUDA 12.4 and 13.0. */
    @ParameterizedTest
    @CsvSource({
        "VAPPS, vapps",
        "VPC, vpc",
        "VCS, vcs",
        "VWS, vws",
        "CLOUD_GAMING, cloudgaming",
        "GEFORCE_RTX, geforcertx",
        "NVIDIA_RTX, nvidiartx"
    })
    void brandsHaveTheNamesThatImagesUse(Brand brand, String word) throws Exception {
        Map<Gpu, GpuFacts> reported = Map.of(GEFORCE, facts(brand, new ComputeCapability(8, 6)));
        assertEquals(
                List.of("GPU 0 (GPU-0f3e0000) is left out: unsatisfied condition: brand!=" + word),
                of("brand!=" + word, reported).leftOut().stream()
                        .map(line -> line.replaceFirst(" \\(brand is .*", ""))
                        .toList());
    }

    private static String refusal(SuitedGpus suited, GpuRequest request) {
        return assertThrows(RefusedException.class, () -> suited.candidates(request)).getMessage();
    }

    @Test
    void countPicksAmongThoseThatMeetIt() throws Exception {
        Set<String> a100 = Set.of(A100.uuid());
        assertEquals(a100, of("brand=nvidia", REPORTED).candidates(new GpuRequest.Count(1)));
        assertEquals(a100, of("arch<8.6", REPORTED).candidates(new GpuRequest.Count(1)));
        assertEquals(
                "2 GPUs requested, but the image can use only GPU 1: unsatisfied condition:"
                        + " arch=8.0 (arch is 8.6; NVIDIA_REQUIRE_X of the image) on GPU 0"
                        + " (GPU-0f3e0000); request fewer, or set NVIDIA_DISABLE_REQUIRE=1",
                refusal(of("arch=8.0", REPORTED), new GpuRequest.Count(2)));
        assertEquals(a100, of("arch=8.0", REPORTED).candidates(new GpuRequest.Count(3)));
    }

    @Test
    void allLeavesOutTheOthers() throws Exception {
        SuitedGpus suited = of("brand=GeForceRTX", REPORTED);
        assertEquals(Set.of(GEFORCE.uuid()), suited.candidates(ALL));
        assertEquals(
                List.of(
                        "GPU 1 (GPU-3a910001) is left out: unsatisfied condition:"
                                + " brand=GeForceRTX (brand is nvidia; NVIDIA_REQUIRE_X of the"
                                + " image)"),
                suited.leftOut());
    }

    @Test
    void namedGpuThatDoesNotMeetItIsRefused() throws Exception {
        SuitedGpus suited = of("arch>=8.6", REPORTED);
        assertEquals(Set.of(), suited.candidates(new GpuRequest.Devices(List.of("0"))));
        assertEquals(
                "the image cannot use GPU 1 (GPU-3a910001): unsatisfied condition: arch>=8.6 (arch"
                    + " is 8.0; NVIDIA_REQUIRE_X of the image); take another (it can use: 0), or"
                    + " set NVIDIA_DISABLE_REQUIRE=1",
                refusal(suited, new GpuRequest.Devices(List.of("0", "1"))));
    }

    @Test
    void gpusThatAllMeetItAreNotRestricted() throws Exception {
        assertEquals(Set.of(), of("arch>=8.0", REPORTED).candidates(ALL));
        assertEquals(
                Set.of(), of("brand=tesla arch>=8", REPORTED).candidates(new GpuRequest.Count(2)));
    }

    @Test
    void whatNoGpuMeetsIsRefusedAsBefore() throws Exception {
        assertEquals(
                "unsatisfied condition: arch>=9.0 (arch is 8.6; NVIDIA_REQUIRE_X of the image); no"
                        + " known driver would do; use another image, or NVIDIA_DISABLE_REQUIRE=1",
                refusal(of("arch>=9.0", REPORTED), ALL));
    }

    @Test
    void whatNvmlDoesNotReportCountsAsMet() throws Exception {
        SuitedGpus suited = of("arch>=9.0", Map.of());
        assertEquals(Set.of(), suited.candidates(ALL));
        assertEquals(
                List.of(
                        "arch>=9.0 (NVIDIA_REQUIRE_X of the image) was not checked: arch is"
                                + " unknown"),
                suited.unchecked().stream().map(Unchecked::message).toList());
    }
}
