package jnvdocker.volume.files;

import jnvdocker.labels.DriverVersion;

import java.util.List;
import java.util.stream.Collectors;

/** Whether the user-space driver is there at all, and is the one that the kernel module needs. */
final class InstalledDriver {
    private InstalledDriver() {}

    static void check(DriverVersion driver, DriverSelection selection, LibrarySearch search)
            throws DriverVolumeException {
        String wanted = "libcuda.so." + driver;
        if (!selection.chosen(Directory.LIB64, wanted).isEmpty()) {
            return;
        }
        List<String> unfit = selection.leftOutNamed(wanted);
        if (!unfit.isEmpty()) {
            throw new DriverVolumeException(
                    "the library of driver %s cannot be used: %s"
                            .formatted(driver, String.join("; ", unfit)),
                    "install that driver's user-space part again");
        }
        List<String> narrow = selection.chosen(Directory.LIB, wanted);
        if (!narrow.isEmpty()) {
            throw new DriverVolumeException(
                    "of driver %s only the 32-bit libraries are installed: %s"
                            .formatted(driver, String.join(", ", narrow)),
                    "install the 64-bit ones too");
        }
        List<String> others =
                search.libraries().stream()
                        .filter(library -> isOther(library, driver))
                        .map(FoundLibrary::path)
                        .toList();
        throw others.isEmpty() ? missing(driver, search) : mismatch(driver, others);
    }

    private static boolean isOther(FoundLibrary library, DriverVersion driver) {
        LibraryName name = LibraryName.parse(library.name());
        return name.stem().equals("libcuda")
                && name.owner(driver) == LibraryName.Owner.OTHER_DRIVER;
    }

    private static DriverVolumeException mismatch(DriverVersion driver, List<String> others) {
        return new DriverVolumeException(
                "the kernel module that is loaded is of driver "
                        + driver
                        + ", but this host's libraries are of another: "
                        + String.join(", ", others),
                "reboot this host to complete the driver's upgrade");
    }

    private static DriverVolumeException missing(DriverVersion driver, LibrarySearch search) {
        return new DriverVolumeException(
                "the user-space part of driver "
                        + driver
                        + " is not installed: "
                        + (search.directories().isEmpty()
                                ? "this host has no directory of libraries"
                                : "no libcuda.so."
                                        + driver
                                        + " in "
                                        + String.join(", ", search.directories())
                                        + (search.hasCache()
                                                ? ""
                                                : ", and no loader cache to name other"
                                                        + " directories"))
                        + closed(search),
                "install it and run ldconfig, or name its directory in driver_directories of the"
                        + " configuration");
    }

    /** Names the directories that could not be searched: it may be in one of them. */
    private static String closed(LibrarySearch search) {
        return search.closed().isEmpty()
                ? ""
                : search.closed().entrySet().stream()
                        .map(directory -> directory.getKey() + ": " + directory.getValue())
                        .collect(Collectors.joining("; ", " (", ")"));
    }
}
