package jnvdocker.volume.files;

import jnvdocker.labels.DriverVersion;
import jnvdocker.volume.files.DriverFiles.DriverLink;
import jnvdocker.volume.files.DriverFiles.LeftOut;
import jnvdocker.volume.files.LibraryName.Owner;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * The symbolic links of the volume: whatever name a program may request leads to the file that the
 * host's loader would take. Where two files claim a name, the loader cache decides, then the driver
 * before parts with numbers of their own, then the path.
 */
final class LinkNames {
    /** Matches names in a directory. A SONAME is any text; a slash in it must not lead out. */
    private static final Pattern PLAIN = Pattern.compile("(?!\\.)[A-Za-z0-9_.+-]{1,255}");

    private static final Comparator<Key> KEY_ORDER =
            Comparator.comparing(Key::directory).thenComparing(Key::name);

    private record Key(Directory directory, String name) {}

    private interface Names {
        Stream<String> of(ChosenLibrary library);
    }

    private final DriverVersion driver;
    private final List<ChosenLibrary> libraries;
    private final Map<Key, ChosenLibrary> owners = new TreeMap<>(KEY_ORDER);

    LinkNames(DriverVersion driver, List<ChosenLibrary> libraries) {
        this.driver = driver;
        this.libraries =
                libraries.stream()
                        .sorted(
                                Comparator.comparing(ChosenLibrary::owner)
                                        .thenComparing(ChosenLibrary::path))
                        .toList();
        claim(library -> Stream.of(library.name()));
        claimCacheNames();
        claim(library -> library.soname().stream());
        claim(library -> library.linkNames().stream());
        claim(this::fixedNames);
    }

    /** The libraries without those that no program would get to: remains of older drivers. */
    List<ChosenLibrary> kept() {
        return libraries.stream().filter(library -> winner(library).equals(library)).toList();
    }

    List<LeftOut> leftOut() {
        List<LeftOut> leftOut = new ArrayList<>();
        for (ChosenLibrary library : libraries) {
            ChosenLibrary winner = winner(library);
            if (!winner.equals(library)) {
                leftOut.add(new LeftOut(library.path(), winner.taken()));
            }
        }
        return leftOut;
    }

    List<DriverLink> links() {
        List<ChosenLibrary> kept = kept();
        List<DriverLink> links = new ArrayList<>();
        owners.forEach((key, owner) -> {
            if (kept.contains(owner) && !key.name().equals(owner.name())) {
                links.add(new DriverLink(key.directory(), key.name(), owner.name()));
            }
        });
        return links;
    }

    /**
     * The library that answers to its SONAME. Only a part with numbers of its own can be displaced.
     */
    private ChosenLibrary winner(ChosenLibrary library) {
        if (library.owner() != Owner.OWN_VERSION) {
            return library;
        }
        return library.soname()
                .map(name -> owners.getOrDefault(new Key(library.directory(), name), library))
                .orElse(library);
    }

    private void claimCacheNames() {
        SortedMap<Integer, List<Runnable>> byPlace = new TreeMap<>();
        for (ChosenLibrary library : libraries) {
            library.cacheNames()
                    .forEach((name, place) ->
                            byPlace.computeIfAbsent(place, _ -> new ArrayList<>())
                                    .add(() -> claim(library, name)));
        }
        byPlace.values().forEach(claims -> claims.forEach(Runnable::run));
    }

    private void claim(Names names) {
        for (ChosenLibrary library : libraries) {
            names.of(library).forEach(name -> claim(library, name));
        }
    }

    private void claim(ChosenLibrary library, String name) {
        if (PLAIN.matcher(name).matches()) {
            owners.putIfAbsent(new Key(library.directory(), name), library);
        }
    }

    /** Programs open these by name, though neither is a SONAME. */
    private Stream<String> fixedNames(ChosenLibrary library) {
        if (library.name().equals("libcuda.so." + driver)) {
            return Stream.of("libcuda.so");
        }
        return library.name().equals("libGLX_nvidia.so." + driver)
                ? Stream.of("libGLX_indirect.so.0")
                : Stream.empty();
    }
}
