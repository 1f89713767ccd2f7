package jnvdocker.volume.files;

import static org.junit.jupiter.api.Assertions.assertEquals;

import jnvdocker.labels.DriverVersion;
import jnvdocker.volume.files.LibraryName.Owner;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class LibraryNameTest {
    @ParameterizedTest
    @CsvSource({
        "libcuda.so.535.104.05, DRIVER",
        "libnvidia-nvvm.so.535.104.05, DRIVER",
        "libnew-in-next-driver.so.535.104.05, DRIVER",
        "libnvidia-nvvm.so.4.0.0, OWN_VERSION",
        "libnvidia-egl-wayland.so.1.1.10, OWN_VERSION",
        "libnvidia-api.so.1, OWN_VERSION",
        "libcuda.so.535.104.5, OTHER_DRIVER",
        "libcuda.so.550.54.14, OTHER_DRIVER",
        "libnvidia-nvvm.so.550.54.14, OTHER_DRIVER",
        "libEGL_nvidia.so.470.256.02, OTHER_DRIVER",
        "libGL.so.390.157, OTHER_DRIVER",
        "libGL.so.535.104.05, GL",
        "libGL.so.1.7.0, GL",
        "libGLdispatch.so.0.0.0, UNRELATED",
        "libglxserver_nvidia.so.535.104.05, X_SERVER",
        "libglx.so.535.104.05, X_SERVER",
        "libglx.so, UNRELATED",
        "nvidia_drv.so, X_SERVER",
        "libnvidia-gtk3.so.535.104.05, SETTINGS",
        "libnvidia-container.so.1.13.5, UNRELATED",
        "libcuda.so.1, UNRELATED",
        "libcuda.so, UNRELATED",
        "libcuda.so.535.104.05.bak, UNRELATED",
        "libcuda.so.535.104.05.debug, UNRELATED",
        ".so.535.104.05, UNRELATED",
        "libc.so.6, UNRELATED",
    })
    void nameTellsTheOwner(String name, Owner owner) {
        DriverVersion driver = DriverVersion.parse("535.104.05");
        assertEquals(owner, LibraryName.parse(name).owner(driver));
    }
}
