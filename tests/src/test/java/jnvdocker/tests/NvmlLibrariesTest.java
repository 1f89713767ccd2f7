package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.jna.NativeLibrary;

import jnvdocker.nvml.Nvml;
import jnvdocker.nvml.NvmlException;
import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.Project;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import java.util.TreeSet;

/** The entry points that are called are those of real drivers. */
class NvmlLibrariesTest {
    /** A driver, and the entry points that it does not have yet. */
    enum Driver {
        DRIVER_340(
                "sid",
                "libnvidia-legacy-340xx-ml1",
                "nvmlDeviceGetArchitecture",
                "nvmlDeviceGetAttributes_v2",
                "nvmlDeviceGetComputeInstanceId",
                "nvmlDeviceGetComputeRunningProcesses_v2",
                "nvmlDeviceGetComputeRunningProcesses_v3",
                "nvmlDeviceGetCudaComputeCapability",
                "nvmlDeviceGetGpuInstanceId",
                "nvmlDeviceGetGraphicsRunningProcesses",
                "nvmlDeviceGetGraphicsRunningProcesses_v2",
                "nvmlDeviceGetGraphicsRunningProcesses_v3",
                "nvmlDeviceGetMaxMigDeviceCount",
                "nvmlDeviceGetMemoryBusWidth",
                "nvmlDeviceGetMemoryInfo_v2",
                "nvmlDeviceGetMigDeviceHandleByIndex",
                "nvmlDeviceGetMigMode",
                "nvmlDeviceGetNvLinkRemotePciInfo",
                "nvmlDeviceGetNvLinkRemotePciInfo_v2",
                "nvmlDeviceGetNvLinkState",
                "nvmlDeviceGetNumGpuCores",
                "nvmlDeviceGetPcieThroughput",
                "nvmlDeviceGetProcessUtilization",
                "nvmlDeviceGetRemappedRows",
                "nvmlDeviceGetTopologyCommonAncestor",
                "nvmlEventSetWait_v2",
                "nvmlSystemGetCudaDriverVersion"),
        DRIVER_470(
                "bullseye",
                "libnvidia-ml1",
                "nvmlDeviceGetComputeRunningProcesses_v3",
                "nvmlDeviceGetGraphicsRunningProcesses_v3",
                "nvmlDeviceGetMemoryBusWidth",
                "nvmlDeviceGetMemoryInfo_v2",
                "nvmlDeviceGetNumGpuCores"),
        DRIVER_535("bookworm", "libnvidia-ml1"),
        DRIVER_550("trixie", "libnvidia-ml1");

        private final String suite;
        private final String debianPackage;
        private final Set<String> missing;

        Driver(String suite, String debianPackage, String... missing) {
            this.suite = suite;
            this.debianPackage = debianPackage;
            this.missing = Set.of(missing);
        }

        private Path library() {
            return Path.of(
                    Command.of(Project.world("nvml-library"), suite, debianPackage)
                            .run()
                            .ok()
                            .out()
                            .strip());
        }
    }

    @ParameterizedTest
    @EnumSource
    void entryPointsAreThere(Driver driver) throws Exception {
        NativeLibrary library = NativeLibrary.getInstance(driver.library().toString());
        Set<String> missing = new TreeSet<>();
        for (Method method : Class.forName("jnvdocker.nvml.LibNvml").getDeclaredMethods()) {
            if (!Modifier.isStatic(method.getModifiers()) && lacks(library, method.getName())) {
                missing.add(method.getName());
            }
        }
        assertEquals(new TreeSet<>(driver.missing), missing);
    }

    private static boolean lacks(NativeLibrary library, String name) {
        try {
            library.getFunction(name);
            return false;
        } catch (UnsatisfiedLinkError e) {
            return true;
        }
    }

    /** Here is no driver, and every library says so in its own words. */
    @ParameterizedTest
    @EnumSource
    void libraryThatFindsNoDriverSaysSoAndLeavesNoNode(Driver driver) {
        boolean before = Files.exists(Path.of("/dev/nvidiactl"));
        NvmlException error = assertThrows(NvmlException.class, () -> Nvml.open(driver.library()));
        assertEquals("Driver Not Loaded", error.getMessage());
        assertTrue(error.isOfTheDriver());
        assertEquals(before, Files.exists(Path.of("/dev/nvidiactl")));
    }
}
