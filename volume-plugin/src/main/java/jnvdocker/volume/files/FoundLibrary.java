package jnvdocker.volume.files;

import java.nio.file.Path;
import java.util.Collections;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;

/** A file that may be a library of the driver, with every name that leads to it. */
final class FoundLibrary {
    private final String path;
    private final Path file;
    private final SortedMap<String, Integer> cacheNames = new TreeMap<>();
    private final SortedSet<String> linkNames = new TreeSet<>();

    FoundLibrary(String path, Path file) {
        this.path = path;
        this.file = file;
    }

    void cachedAs(String name, int place) {
        cacheNames.merge(name, place, Math::min);
    }

    void linkedAs(String name) {
        linkNames.add(name);
    }

    /** As the host spells it, without links. */
    String path() {
        return path;
    }

    Path file() {
        return file;
    }

    String name() {
        return path.substring(path.lastIndexOf('/') + 1);
    }

    /** Names that the loader cache knows it by, with the place of each: a lower one wins. */
    SortedMap<String, Integer> cacheNames() {
        return Collections.unmodifiableSortedMap(cacheNames);
    }

    /** Names of itself and of links to it in the directories searched. */
    SortedSet<String> linkNames() {
        return Collections.unmodifiableSortedSet(linkNames);
    }

    /** Its position in the loader's search; {@code Integer.MAX_VALUE} if it is not found. */
    int place() {
        return cacheNames.values().stream().min(Integer::compare).orElse(Integer.MAX_VALUE);
    }
}
