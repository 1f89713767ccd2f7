package jnvdocker.container;

import java.util.List;

/**
 * What the programs of a container find when they search for the driver.
 *
 * @param compat libraries that come before the driver's
 * @param names of the driver's own files
 * @param eglProfile by which EGL and Vulkan see the container's GPUs alone, as the driver's
 *     application profiles have it; empty for a container that does not request graphics
 */
public record DriverSearch(CompatLibraries compat, List<SearchedName> names, String eglProfile) {
    /** Nothing beyond what variables name. */
    public static final DriverSearch NONE = new DriverSearch(CompatLibraries.NONE, List.of());

    /** The parts of the driver that programs find without graphics. */
    public DriverSearch(CompatLibraries compat, List<SearchedName> names) {
        this(compat, names, "");
    }

    public DriverSearch {
        names = List.copyOf(names);
    }
}
