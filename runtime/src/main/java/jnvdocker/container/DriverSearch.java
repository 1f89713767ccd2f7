package jnvdocker.container;

import java.util.List;

/**
 * What the programs of a container find when they search for the driver.
 *
 * @param compat libraries that come before the driver's
 * @param names of the driver's own files
 */
public record DriverSearch(CompatLibraries compat, List<SearchedName> names) {
    /** Nothing beyond what variables name. */
    public static final DriverSearch NONE = new DriverSearch(CompatLibraries.NONE, List.of());

    public DriverSearch {
        names = List.copyOf(names);
    }
}
