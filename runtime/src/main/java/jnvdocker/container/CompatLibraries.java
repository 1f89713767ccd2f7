package jnvdocker.container;

import java.util.List;

/**
 * The image's own CUDA libraries of a newer driver, which run on the loaded one.
 *
 * @param folder that the image has them in
 * @param names of the libraries in it
 */
public record CompatLibraries(String folder, List<String> names) {
    /** The libraries of an image that has none, or none that fit. */
    public static final CompatLibraries NONE = new CompatLibraries("", List.of());

    public CompatLibraries {
        names = List.copyOf(names);
    }

    public boolean isUsed() {
        return !names.isEmpty();
    }
}
