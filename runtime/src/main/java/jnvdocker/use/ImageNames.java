package jnvdocker.use;

import java.util.Collection;
import java.util.List;
import java.util.Set;

/** Names of images as an administrator writes them: with or without registry and tag. */
public record ImageNames(Set<String> names) {
    public ImageNames(Collection<String> names) {
        this(Set.copyOf(names));
    }

    public ImageNames {
        names = Set.copyOf(names);
    }

    /**
     * Whether one of them is an image's name, or its end after a slash, with or without its tag.
     */
    public boolean has(String image) {
        String plain = image.replaceFirst("@.*$", "").replaceFirst(":[^:/]*$", "");
        return List.of(image, plain).stream()
                .anyMatch(name ->
                        names.stream()
                                .anyMatch(its -> name.equals(its) || name.endsWith("/" + its)));
    }
}
