package jnvdocker.command.gpu.show;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;

import jnvdocker.archive.Platform;
import jnvdocker.command.gpu.JsonSchemas;
import jnvdocker.labels.CudaVersion;
import jnvdocker.labels.DriverFacts;
import jnvdocker.labels.DriverVersion;
import jnvdocker.labels.ImageConfig;
import jnvdocker.screen.Json;
import jnvdocker.screen.Screen;

import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeSet;

class NeedsReportTest {
    private static final String NO_DRIVER = "no NVIDIA driver is loaded: try harder";

    private static ImageSource.Found image(Map<String, String> labels, String... env) {
        return new ImageSource.Found(
                "cuda:1", Optional.empty(), Optional.empty(), ImageConfig.of(labels, List.of(env)));
    }

    private static ImageSource.Found modern(String... env) {
        List<String> all = new ArrayList<>(List.of("NVIDIA_VISIBLE_DEVICES=all"));
        all.addAll(List.of(env));
        return image(Map.of(), all.toArray(String[]::new));
    }

    private static NeedsReport on535(ImageSource.Found image) {
        DriverFacts facts =
                DriverFacts.of(DriverVersion.parse("535.104.05")).withCuda(new CudaVersion(12, 2));
        return NeedsReport.of(image, Optional.of(facts), "");
    }

    private static void assertLines(String expected, NeedsReport report) {
        assertEquals(expected, String.join("\n", report.lines(Screen.NONE)) + "\n");
    }

    @Test
    void everyAlternativeIsShownWithWhatItIsHere() {
        NeedsReport report =
                on535(
                        modern(
                                "NVIDIA_REQUIRE_CUDA=cuda>=12.4 brand=tesla,driver>=470,driver<471"
                                        + " brand=tesla,driver>=535,driver<536",
                                "NVIDIA_REQUIRE_DRIVER=driver>=550",
                                "NVIDIA_DRIVER_CAPABILITIES=compute,utility"));
        assertLines(
                """
                Image:         cuda:1
                GPUs:          yes (NVIDIA_VISIBLE_DEVICES=all)
                Capabilities:  compute,utility
                This host:     driver 535.104.05, CUDA version 12.2

                VARIABLE                ONE OF                               HERE
                NVIDIA_REQUIRE_CUDA     cuda>=12.4                           not met: cuda is 12.2
                                        brand=tesla,driver>=470,driver<471   not met: driver is 535.104.05
                                        brand=tesla,driver>=535,driver<536   counts as met: brand is unknown
                NVIDIA_REQUIRE_DRIVER   driver>=550                          not met: driver is 535.104.05

                Not known: brand=tesla (NVIDIA_REQUIRE_CUDA of the image) was not checked: brand is unknown
                Not met: unsatisfied condition: driver>=550 (driver is 535.104.05; NVIDIA_REQUIRE_DRIVER of the image); use driver 550 or newer (535.104.05 is loaded), an older image, or NVIDIA_DISABLE_REQUIRE=1
                """,
                report);
        assertFalse(report.isMet());
    }

    @Test
    void imagesOwnCudaLibrariesAreNamedWhereTheyDecide() {
        ImageSource.Found image =
                modern("NVIDIA_REQUIRE_CUDA=cuda>=12.4 driver>=470,driver<471 driver>=550");
        DriverFacts facts =
                DriverFacts.of(DriverVersion.parse("470.256.02")).withCuda(new CudaVersion(11, 4));
        assertTrue(NeedsReport.needsNewerCuda(image, facts));
        assertFalse(NeedsReport.needsNewerCuda(image, facts.withCuda(new CudaVersion(12, 4))));
        assertHere("met, if CUDA libraries of the image's own come first", image, facts);
        assertHere("met, by CUDA libraries of the image's own", image, facts.withCompat(true));
        assertHere("met only by CUDA libraries of the image's own", image, facts.withCompat(false));
        assertTrue(NeedsReport.of(image, Optional.of(facts.withCompat(true)), "").isMet());
        assertFalse(NeedsReport.of(image, Optional.of(facts.withCompat(false)), "").isMet());
    }

    private static void assertHere(String here, ImageSource.Found image, DriverFacts facts) {
        List<String> lines = NeedsReport.of(image, Optional.of(facts), "").lines(Screen.NONE);
        assertTrue(
                lines.stream()
                        .anyMatch(line ->
                                line.contains("driver>=470,driver<471") && line.endsWith(here)),
                lines::toString);
        assertEquals(
                facts.compat().orElse(false),
                lines.contains("CUDA libs:     the image's own come first"));
    }

    @Test
    void everyReasonIsNamed() {
        NeedsReport report =
                on535(modern("NVIDIA_REQUIRE_CUDA=cuda>=99", "NVIDIA_REQUIRE_X=driver<500"));
        assertEquals(
                2,
                report.lines(Screen.NONE).stream().filter(l -> l.startsWith("Not met: ")).count());
    }

    @Test
    void labelsOfOldSayTheSame() {
        Map<String, String> labels =
                Map.of(
                        "com.nvidia.volumes.needed",
                        "nvidia_driver",
                        "com.nvidia.cuda.version",
                        "12.2");
        assertLines(
                """
                Image:         cuda:1
                GPUs:          yes (com.nvidia.volumes.needed=nvidia_driver)
                CUDA version:  12.2 or newer (label com.nvidia.cuda.version)
                This host:     driver 535.104.05, CUDA version 12.2

                Met: this host has what the image needs
                """,
                on535(image(labels)));
        assertTrue(
                on535(image(labels, "NVIDIA_REQUIRE_CUDA=cuda>=11")).lines(Screen.NONE).stream()
                        .anyMatch(line -> line.endsWith("; NVIDIA_REQUIRE_CUDA decides instead)")));
    }

    @Test
    void imageThatAsksForNothingIsMetEverywhere() {
        NeedsReport report = NeedsReport.of(image(Map.of()), Optional.empty(), NO_DRIVER);
        assertLines(
                """
                Image:         cuda:1
                GPUs:          no
                This host:     no NVIDIA driver

                Met: the image needs no GPU
                """,
                report);
        assertTrue(report.isMet());
    }

    @Test
    void withoutADriverTheNeedsAreShownAllTheSame() {
        NeedsReport report =
                NeedsReport.of(modern("NVIDIA_REQUIRE_CUDA=cuda>=11"), Optional.empty(), NO_DRIVER);
        assertLines(
                """
                Image:         cuda:1
                GPUs:          yes (NVIDIA_VISIBLE_DEVICES=all)
                This host:     no NVIDIA driver

                VARIABLE              ONE OF     HERE
                NVIDIA_REQUIRE_CUDA   cuda>=11   -

                Not met: no NVIDIA driver is loaded: try harder
                """,
                report);
        assertFalse(report.isMet());
    }

    @Test
    void disabledCheckIsShownWithWhatItWouldCheck() {
        NeedsReport report =
                on535(modern("NVIDIA_REQUIRE_CUDA=cuda>=99", "NVIDIA_DISABLE_REQUIRE=1"));
        assertTrue(report.isMet());
        assertTrue(
                report.lines(Screen.NONE)
                        .contains("Check:         none (NVIDIA_DISABLE_REQUIRE=1)"),
                report.lines(Screen.NONE)::toString);
        assertTrue(
                report.lines(Screen.NONE)
                        .contains("NVIDIA_REQUIRE_CUDA   cuda>=99   not met: cuda is 12.2"),
                report.lines(Screen.NONE)::toString);
    }

    @Test
    void whatCannotBeUnderstoodIsNotMet() {
        NeedsReport report = on535(modern("NVIDIA_REQUIRE_CUDA=cuda~12"));
        assertFalse(report.isMet());
        assertTrue(
                report.lines(Screen.NONE)
                        .getLast()
                        .startsWith("Not met: invalid expression 'cuda~12'"),
                report.lines(Screen.NONE)::toString);
    }

    @Test
    void imageCanDoNothingToTheTerminalNorFillIt() {
        NeedsReport report =
                on535(
                        modern(
                                "NVIDIA_DRIVER_CAPABILITIES=\u001b[2J",
                                "NVIDIA_REQUIRE_X=" + "cuda>11 ".repeat(1000),
                                "NVIDIA_REQUIRE_Y=" + "cuda>11,".repeat(5000)));
        assertTrue(report.lines(Screen.NONE).contains("Capabilities:  \\u{1b}[2J"));
        assertTrue(report.lines(Screen.NONE).size() < 150);
        assertTrue(report.lines(Screen.NONE).stream().allMatch(line -> line.length() < 250));
    }

    @Test
    void jsonHasEveryKeyAlways() throws IOException {
        ImageSource.Found archived =
                new ImageSource.Found(
                        "cuda:1",
                        Optional.of("x.tar"),
                        Optional.of(new Platform("linux", "amd64")),
                        modern("NVIDIA_REQUIRE_CUDA=cuda>=12.4 brand=tesla").config());
        JsonNode full = json(on535(archived));
        JsonNode empty = json(NeedsReport.of(image(Map.of()), Optional.empty(), NO_DRIVER));
        TreeSet<String> keys = new TreeSet<>();
        full.fieldNames().forEachRemaining(keys::add);
        TreeSet<String> others = new TreeSet<>();
        empty.fieldNames().forEachRemaining(others::add);
        assertEquals(keys, others);
        assertEquals("linux/amd64", full.path("platform").asText());
        assertTrue(empty.path("platform").isNull());
        assertEquals(
                "{\"variable\":\"NVIDIA_REQUIRE_CUDA\",\"met\":true,\"alternatives\":["
                        + "{\"conditions\":\"cuda>=12.4\",\"outcome\":\"unmet\","
                        + "\"unmet\":\"cuda>=12.4\",\"values\":\"cuda is 12.2\"},"
                        + "{\"conditions\":\"brand=tesla\",\"outcome\":\"unknown\","
                        + "\"unmet\":null,\"values\":\"brand is unknown\"}]}",
                full.path("requirements").path(0).toString());
        assertEquals("true", full.path("met").toString());
        assertEquals("12.2", full.path("driver_cuda").asText());
    }

    /** The keys are the same without a driver, and with words that cannot be understood. */
    @Test
    void jsonIsWhatItsSchemaSays() throws IOException {
        ImageSource.Found image = modern("NVIDIA_REQUIRE_CUDA=cuda>=12.4 brand=tesla");
        json(NeedsReport.of(image, Optional.empty(), NO_DRIVER));
        json(on535(modern("NVIDIA_REQUIRE_CUDA=cuda>=twelve")));
        json(on535(modern("NVIDIA_REQUIRE_CUDA=cuda>=99", "NVIDIA_DISABLE_REQUIRE=1")));
    }

    private static JsonNode json(NeedsReport report) throws IOException {
        String text = Json.text(report.document());
        JsonSchemas.check("gpu-needs", text);
        return new ObjectMapper().readTree(text);
    }
}
