package jnvdocker.labels;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.util.Optional;
import java.util.Random;

class VersionsTest {
    @ParameterizedTest
    @CsvSource({
        "12.4,12.4",
        "12,12.0",
        "9.0.176,9.0",
        "10.1.243.0,10.1",
        "12.04,12.4",
        "99.0,99.0"
    })
    void cudaVersionIsMajorAndMinor(String text, String version) {
        assertEquals(version, CudaVersion.parse(text).toString());
    }

    @Test
    void cudaVersionsCompareAsNumbers() {
        assertTrue(CudaVersion.parse("12.10").compareTo(CudaVersion.parse("12.9")) > 0);
        assertTrue(CudaVersion.parse("9.2").compareTo(CudaVersion.parse("10.0")) < 0);
        assertEquals(CudaVersion.parse("8.0"), CudaVersion.parse("8.0.61"));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"", "12.", ".4", "12.x", "v12", "12 4", "-1", "12.4.0.0.1", "12345.0", "١٢"})
    void malformedVersionIsQuoted(String text) {
        assertEquals(
                "not a CUDA version: '" + text + "'",
                assertThrows(IllegalArgumentException.class, () -> CudaVersion.parse(text))
                        .getMessage());
    }

    @Test
    void driverVersionKeepsItsSpelling() {
        DriverVersion one = DriverVersion.parse("470.256.02");
        DriverVersion other = DriverVersion.parse("470.256.2");
        assertEquals("470.256.02", one.toString());
        assertEquals(0, one.compareTo(other));
        assertNotEquals(one, other);
        assertEquals(470, one.branch());
        assertTrue(DriverVersion.parse("390.87").compareTo(DriverVersion.parse("390.100")) < 0);
        assertEquals(0, DriverVersion.parse("390.87").compareTo(DriverVersion.parse("390.87.0")));
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "535", "535.", "535.x", "535.1.2.3.4", "1234567.0", "../535.1"})
    void malformedDriverVersionIsQuoted(String text) {
        assertEquals(
                "not a driver version: '" + text + "'",
                assertThrows(IllegalArgumentException.class, () -> DriverVersion.parse(text))
                        .getMessage());
    }

    @Test
    void longTextIsCutShort() {
        assertEquals(
                "not a CUDA version: '" + "x".repeat(80) + "…'",
                assertThrows(
                                IllegalArgumentException.class,
                                () -> CudaVersion.parse("x".repeat(5000)))
                        .getMessage());
    }

    @Test
    void anyTextIsAVersionOrAnIllegalArgument() {
        Random random = new Random(535);
        String characters = "0123456789..x -\u0000\ud83d";
        for (int i = 0; i < 50_000; i++) {
            StringBuilder text = new StringBuilder();
            for (int n = random.nextInt(24); n > 0; n--) {
                text.append(characters.charAt(random.nextInt(characters.length())));
            }
            String candidate = text.toString();
            parsesOrNot(() -> CudaVersion.parse(candidate).compareTo(new CudaVersion(12, 0)));
            parsesOrNot(() -> DriverVersion.parse(candidate).branch());
            parsesOrNot(() -> new VersionNumber(candidate).compareTo(new VersionNumber("1")));
        }
    }

    @ParameterizedTest
    @CsvSource({
        "340.108,6.5",
        "361.42,7.5",
        "375.66,8.0",
        "384.81,9.0",
        "390.157,9.1",
        "430.50,10.1",
        "470.256.02,11.4",
        "525.147.05,12.0",
        "535.261.03,12.2",
        "550.163.01,12.4",
        "565.57.01,12.7",
        "580.65.06,13.0",
        "610.43.02,13.3",
        "615.71.09,13.4",
    })
    void branchSupportsItsCudaVersion(String driver, String cuda) {
        assertEquals(
                Optional.of(CudaVersion.parse(cuda)),
                DriverBranches.cudaOf(DriverVersion.parse(driver)));
    }

    @ParameterizedTest
    @ValueSource(strings = {"304.137", "331.62", "616.0", "700.12.01"})
    void driverOutsideTheTableIsUnknown(String driver) {
        assertEquals(Optional.empty(), DriverBranches.cudaOf(DriverVersion.parse(driver)));
    }

    @ParameterizedTest
    @CsvSource({"6.0,340", "8.0,367", "9.1,387", "11.4,470", "11.9,525", "12.4,550", "13.4,615"})
    void lowestBranchForACudaVersion(String cuda, int branch) throws Exception {
        assertEquals(Optional.of(branch), driverFor(cuda));
    }

    @Test
    void noBranchForACudaVersionOfTheFuture() throws Exception {
        assertEquals(Optional.empty(), driverFor("99.0"));
    }

    private static Optional<Integer> driverFor(String cuda) throws BadImageException {
        return DriverBranches.driverFor(
                GpuNeeds.of(Images.withLabels("nvidia_driver", cuda)),
                DriverFacts.of(DriverVersion.parse("304.137")));
    }

    private static void parsesOrNot(Runnable parse) {
        try {
            parse.run();
        } catch (IllegalArgumentException e) {
            assertTrue(e.getMessage().startsWith("not a "), e.getMessage());
        }
    }
}
