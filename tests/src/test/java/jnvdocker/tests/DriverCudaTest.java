package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.cuda.CudaDriver;
import jnvdocker.host.Host;
import jnvdocker.labels.CudaVersion;
import jnvdocker.labels.DriverBranches;
import jnvdocker.labels.DriverVersion;
import jnvdocker.tests.world.DriverRoot;
import jnvdocker.tests.world.Lab;
import jnvdocker.tests.world.TestDaemon;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/** The CUDA versions that real drivers report, on a machine that may have no GPU. */
@Tag("root")
class DriverCudaTest {
    @ParameterizedTest
    @EnumSource(DriverRoot.Release.class)
    void tableAgreesWithTheDriver(DriverRoot.Release release) throws IOException {
        try (DriverRoot root = DriverRoot.make(release, 0)) {
            Host host = Host.at(root.folder());
            Path libcuda = host.resolve("/usr/lib/x86_64-linux-gnu/libcuda.so.1");
            CudaVersion asked = new CudaDriver().ask(libcuda);
            assertEquals(
                    DriverBranches.cudaOf(DriverVersion.parse(root.version())), Optional.of(asked));
        }
    }

    @ParameterizedTest
    @CsvSource({
        "DRIVER_470, 11.4",
        "DRIVER_535, 12.2",
        "DRIVER_535_DEBIAN, 12.2",
        "DRIVER_550, 12.4",
        "DRIVER_550_DEBIAN, 12.4"
    })
    void daemonAsksTheDriverWhenItStarts(DriverRoot.Release release, String version)
            throws IOException {
        try (DriverRoot host = DriverRoot.make(release);
                TestDaemon daemon = new TestDaemon(host)) {
            daemon.jnvdocker("gpu", "ls").run().ok();
            Path kept = daemon.state().resolve("cuda-version");
            Lab.await(() -> Files.exists(kept) ? List.of() : List.of("there is no " + kept));
            assertEquals(host.version() + " " + version + "\n", Files.readString(kept));
            String said = "driver " + host.version() + " supports CUDA " + version;
            assertTrue(Files.readString(daemon.log()).contains(said));

            daemon.stop();
            Files.delete(daemon.log());
            daemon.jnvdocker("gpu", "ls").run().ok();
            daemon.stop();
            assertFalse(Files.readString(daemon.log()).contains("supports CUDA"), "asked again");
        }
    }
}
