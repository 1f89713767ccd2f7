package jnvdocker.volume.files;

import jnvdocker.host.Host;
import jnvdocker.labels.DriverVersion;

import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.FileSystemLoopException;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.Collection;
import java.util.Collections;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * Collects every file of the host that a library of the driver could be, under all the names that
 * lead to it. Searches the directories that the loader cache names and the loader's default
 * directories, their sub-directories where drivers put libraries, and wherever links with a
 * driver's name lead ({@code nvidia/current} in Debian's layout). Does not judge.
 */
final class LibrarySearch {
    private static final List<String> SUBDIRECTORIES =
            List.of(
                    "gbm",
                    "nvidia",
                    "nvidia/current",
                    "nvidia/xorg",
                    "tls",
                    "vdpau",
                    "xorg/modules",
                    "xorg/modules/drivers",
                    "xorg/modules/extensions",
                    "xorg/modules/updates/drivers",
                    "xorg/modules/updates/extensions");

    /** No host has as many; a loop of mounts might. */
    private static final int MAX_DIRECTORIES = 4096;

    private final Host host;
    private final DriverVersion driver;
    private final SortedMap<String, FoundLibrary> found = new TreeMap<>();
    private final SortedMap<String, String> dead = new TreeMap<>();
    private final SortedMap<String, String> closed = new TreeMap<>();
    private final Deque<String> pending = new ArrayDeque<>();
    private final Set<String> seen = new HashSet<>();
    private final SortedSet<String> searched = new TreeSet<>();
    private boolean hasCache;

    private LibrarySearch(Host host, DriverVersion driver) {
        this.host = host;
        this.driver = driver;
    }

    static LibrarySearch of(Host host, DriverVersion driver, Machine machine) throws IOException {
        LibrarySearch search = new LibrarySearch(host, driver);
        String triplet = machine.triplet();
        search.cache();
        search.pending.addAll(host.driverDirectories());
        search.pending.addAll(
                List.of(
                        "/lib/" + triplet,
                        "/usr/lib/" + triplet,
                        "/lib64",
                        "/usr/lib64",
                        "/lib",
                        "/usr/lib",
                        "/usr/lib/i386-linux-gnu",
                        "/usr/lib32",
                        "/run/opengl-driver/lib",
                        "/run/opengl-driver-32/lib",
                        "/opt/nvidia/lib64",
                        "/opt/nvidia/lib",
                        "/usr/X11R6/lib/modules/drivers",
                        "/usr/X11R6/lib/modules/extensions"));
        while (!search.pending.isEmpty() && search.seen.size() < MAX_DIRECTORIES) {
            search.directory(search.pending.pop());
        }
        return search;
    }

    /** The files, by path. */
    Collection<FoundLibrary> libraries() {
        return Collections.unmodifiableCollection(found.values());
    }

    /** Files that bear a driver's name and lead nowhere, with the reason. */
    SortedMap<String, String> dead() {
        return Collections.unmodifiableSortedMap(dead);
    }

    /** The directories that could not be searched, with the reason. */
    SortedMap<String, String> closed() {
        return Collections.unmodifiableSortedMap(closed);
    }

    /** The directories that exist and were searched, as the host spells them. */
    SortedSet<String> directories() {
        return Collections.unmodifiableSortedSet(searched);
    }

    /** Whether the host has a loader cache. */
    boolean hasCache() {
        return hasCache;
    }

    private void cache() throws IOException {
        List<LdCache.Entry> entries;
        try {
            entries = LdCache.read(host).entries();
            hasCache = true;
        } catch (NoSuchFileException e) {
            return;
        }
        for (int i = 0; i < entries.size(); i++) {
            LdCache.Entry entry = entries.get(i);
            if (!entry.path().startsWith("/")) {
                continue;
            }
            pending.add(parent(entry.path()));
            LibraryName name = LibraryName.parse(entry.name());
            if (name.concerns(driver)) {
                FoundLibrary library = follow(entry.path(), name);
                if (library != null) {
                    library.cachedAs(entry.name(), i);
                }
            }
        }
    }

    private void directory(String spelled) throws IOException {
        Path directory = resolve(spelled);
        if (directory == null) {
            closed.put(spelled, "this link leads in a circle");
            return;
        }
        if (!seen.add(host.spell(directory)) || !Files.isDirectory(directory)) {
            return;
        }
        String real = host.spell(directory);
        searched.add(real);
        for (String name : names(directory)) {
            FoundLibrary library = follow(real + "/" + name, LibraryName.parse(name));
            if (library != null) {
                library.linkedAs(name);
            }
        }
        SUBDIRECTORIES.forEach(sub -> pending.add(real + "/" + sub));
    }

    private List<String> names(Path directory) throws IOException {
        SortedSet<String> names = new TreeSet<>();
        try (DirectoryStream<Path> files = Files.newDirectoryStream(directory)) {
            for (Path file : files) {
                String name = file.getFileName().toString();
                if (LibraryName.parse(name).concerns(driver)) {
                    names.add(name);
                }
            }
        } catch (DirectoryIteratorException e) {
            throw e.getCause();
        } catch (AccessDeniedException e) {
            closed.put(host.spell(directory), "this directory cannot be read by this user");
        }
        return List.copyOf(names);
    }

    /** The file that a path leads to, or null when there is none. */
    private FoundLibrary follow(String path, LibraryName name) throws IOException {
        Path file = resolve(path);
        if (file == null || !Files.exists(file, LinkOption.NOFOLLOW_LINKS)) {
            if (name.isDriverStem()) {
                dead.put(path, reason(path, file));
            }
            return null;
        }
        String real = host.spell(file);
        if (name.isDriverStem()) {
            pending.add(parent(real));
        }
        return found.computeIfAbsent(real, key -> new FoundLibrary(key, file));
    }

    private String reason(String path, Path file) throws IOException {
        if (file == null) {
            return "this link leads in a circle";
        }
        Path link = host.resolveParent(path);
        return Files.isSymbolicLink(link)
                ? "this link leads nowhere: " + host.spell(file) + " does not exist"
                : "the loader cache names it, but it does not exist";
    }

    private Path resolve(String path) throws IOException {
        try {
            return host.resolve(path);
        } catch (FileSystemLoopException | InvalidPathException e) {
            return null;
        }
    }

    private static String parent(String path) {
        return path.substring(0, Math.max(1, path.lastIndexOf('/')));
    }
}
