package jnvdocker.container;

import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.regex.Pattern;

/**
 * The image's own CUDA libraries of a newer driver, which run on the loaded one.
 *
 * @param directory that the image has them in
 * @param names of the libraries in it
 */
public record CompatLibraries(String directory, List<String> names) {
    private static final Pattern NAMED = Pattern.compile("/compat(/[^:]*)?(:|$)");

    /** The libraries of an image that has none, or none that fit. */
    public static final CompatLibraries NONE = new CompatLibraries("", List.of());

    public CompatLibraries {
        names = List.copyOf(names);
    }

    public boolean isUsed() {
        return !names.isEmpty();
    }

    /** Whether an image's or user's own variable has libraries of that kind searched first. */
    public static boolean areNamed(Map<String, String> environment) {
        String path = Objects.requireNonNullElse(environment.get("LD_LIBRARY_PATH"), "");
        return NAMED.matcher(path).find();
    }
}
