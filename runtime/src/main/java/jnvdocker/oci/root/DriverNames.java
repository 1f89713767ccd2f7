package jnvdocker.oci.root;

import jnvdocker.container.CompatLibraries;
import jnvdocker.container.ContainerPlanner;
import jnvdocker.container.DriverSearch;
import jnvdocker.container.SearchedName;
import jnvdocker.posix.FileErrors;
import jnvdocker.posix.ForeignDirectory;
import jnvdocker.posix.ForeignRoot;
import jnvdocker.volume.GraphicsFile;
import jnvdocker.volume.files.Directory;
import jnvdocker.volume.files.LdCache;
import jnvdocker.volume.files.Machine;
import jnvdocker.words.Refusal;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;

/**
 * Makes the programs of a container find the driver at {@value ContainerPlanner#DRIVER_DIRECTORY}
 * wherever they search by themselves, without variables: with {@code sudo}, {@code su -}, cron,
 * {@code env -i}, {@code ldconfig -p} and {@code gcc -lcuda}.
 *
 * <pre>
 * /usr/lib/x86_64-linux-gnu/libcuda.so   links; else in /usr/lib64 or /usr/lib
 * /usr/bin/nvidia-smi                    links
 * /etc/ld.so.cache                       names the driver's libraries before the image's own
 * /etc/ld.so.conf.d/00-jnvdocker.conf    has the image's own ldconfig do the same
 * </pre>
 *
 * <p>These are links and not mounts: some seventy mounts would slow down each start, and would
 * leave empty files in an image that is made of the container.
 */
public final class DriverNames {
    private static final int MOST_CACHE = 8 << 20;
    private static final String DRIVER = ContainerPlanner.DRIVER_DIRECTORY + "/";
    private static final String CONFIG = "00-jnvdocker.conf";
    private static final String CONFIG_TEXT =
            DRIVER + Directory.LIB64 + "\n" + DRIVER + Directory.LIB + "\n";
    private static final int MOST_HIDDEN = 64;

    /** By which Mesa's GBM finds the driver's, in the directory gbm beside the libraries. */
    private static final String GBM = "nvidia-drm_gbm.so";

    private static final String ALLOCATOR = "libnvidia-allocator.so.1";
    private static final List<String> PROFILES =
            List.of("etc", "nvidia", "nvidia-application-profiles-rc.d");
    private static final String PROFILE = "10-container.conf";

    private final ForeignRoot root;
    private final Machine machine;
    private final CompatLibraries compat;
    private final String eglProfile;
    private final List<SearchedName> names;
    private final List<GraphicsFile> mounts = new ArrayList<>();

    private DriverNames(ForeignRoot root, Machine machine, DriverSearch search) {
        this.root = root;
        this.machine = machine;
        this.compat = search.compat();
        this.eglProfile = search.eglProfile();
        this.names = search.names();
    }

    /**
     * The outcome.
     *
     * @param mounts what must be mounted, since the image has files of its own there
     * @param hidden a file of the image that the driver volume hides
     * @param obstacle why the programs find less than they could; empty if they find everything
     */
    public record Result(
            List<GraphicsFile> mounts, Optional<String> hidden, Optional<Refusal> obstacle) {}

    /**
     * @param root of the container, which nothing runs in yet
     */
    public static Result put(Path root, DriverSearch search) throws IOException {
        try (ForeignRoot opened = ForeignRoot.open(root)) {
            DriverNames put = new DriverNames(opened, Machine.ofThisMachine(), search);
            Optional<Refusal> obstacle = opened.isOurOwn() ? Optional.empty() : put.put();
            return new Result(List.copyOf(put.mounts), put.hidden(), obstacle);
        }
    }

    private Optional<String> hidden() throws IOException {
        for (Directory directory : Directory.values()) {
            Optional<ForeignDirectory> found = root.directory(DRIVER + directory);
            if (found.isPresent()) {
                try (ForeignDirectory own = found.get()) {
                    Optional<String> hidden =
                            own.names(MOST_HIDDEN).stream()
                                    .filter(name -> !isOurs(directory, name))
                                    .findFirst();
                    if (hidden.isPresent()) {
                        return Optional.of(DRIVER + directory + "/" + hidden.get());
                    }
                }
            }
        }
        return Optional.empty();
    }

    private boolean isOurs(Directory directory, String name) {
        return names.stream()
                .anyMatch(ours -> ours.directory() == directory && ours.name().equals(name));
    }

    private Optional<Refusal> put() {
        if (!root.has(machine.loader())) {
            return root.has(machine.muslLoader())
                    ? Optional.of(
                            new Refusal(
                                    "this image has musl's loader alone (as Alpine has), which"
                                            + " cannot load the driver's libraries",
                                    "take an image with glibc"))
                    : Optional.empty();
        }
        try {
            link(Directory.LIB64, libraryDirectories());
            link(Directory.BIN, List.of("/usr/bin"));
            if (!eglProfile.isEmpty()) {
                arrangeGraphics();
            }
            return list();
        } catch (IOException e) {
            return Optional.of(obstacle("its root cannot be written: " + FileErrors.reason(e)));
        }
    }

    private void arrangeGraphics() throws IOException {
        String directory = "/";
        for (String each : PROFILES) {
            makeDirectory(directory, each);
            directory += each + "/";
        }
        Optional<ForeignDirectory> profiles = root.directory(directory);
        if (profiles.isPresent()) {
            try (ForeignDirectory opened = profiles.get()) {
                opened.write(PROFILE, eglProfile.getBytes(StandardCharsets.US_ASCII));
            }
        }
        for (String place : libraryDirectories()) {
            if (makeDirectory(place, "gbm")) {
                Optional<ForeignDirectory> found = root.directory(place + "/gbm");
                if (found.isPresent() && isOurs(Directory.LIB64, ALLOCATOR)) {
                    try (ForeignDirectory gbm = found.get()) {
                        link(gbm, GBM, DRIVER + Directory.LIB64 + "/" + ALLOCATOR);
                    }
                }
                return;
            }
        }
    }

    /** Returns false if there is no directory to make it in. */
    private boolean makeDirectory(String parent, String name) throws IOException {
        Optional<ForeignDirectory> found = root.directory(parent);
        if (found.isPresent()) {
            try (ForeignDirectory opened = found.get()) {
                opened.makeDirectory(name);
            }
        }
        return found.isPresent();
    }

    private List<String> libraryDirectories() {
        return List.of("/usr/lib/" + machine.triplet(), "/usr/lib64", "/usr/lib");
    }

    /** Makes links in the first of these directories that there is. */
    private void link(Directory directory, List<String> places) throws IOException {
        for (String place : places) {
            Optional<ForeignDirectory> found = root.directory(place);
            if (found.isPresent()) {
                try (ForeignDirectory links = found.get()) {
                    for (SearchedName name : names) {
                        if (name.directory() == directory && name.inDirectories()) {
                            link(links, name, place);
                        }
                    }
                }
                return;
            }
        }
    }

    private void link(ForeignDirectory links, SearchedName name, String place) throws IOException {
        if (!link(links, name.name(), name.path())) {
            Path inVolume = Path.of(name.directory().toString(), name.name());
            mounts.add(new GraphicsFile(inVolume, place + "/" + name.name()));
        }
    }

    /** Makes a link; returns false where the image has a file of its own. */
    private static boolean link(ForeignDirectory links, String name, String target)
            throws IOException {
        if (links.link(name, target)) {
            return true;
        }
        return switch (links.kind(name)) {
            case LINK -> links.target(name).equals(target) || replace(links, name, target);
            // The place of a mount, in an image that was made of another runtime's container.
            case EMPTY_FILE -> replace(links, name, target);
            case FILE -> false;
            case NOTHING, OTHER -> true;
        };
    }

    private static boolean replace(ForeignDirectory links, String name, String target)
            throws IOException {
        links.delete(name);
        return links.link(name, target);
    }

    /** Names the libraries in the loader's cache, and in its configuration. */
    private Optional<Refusal> list() throws IOException {
        Optional<ForeignDirectory> etc = root.directory("/etc");
        if (etc.isEmpty()) {
            return Optional.of(obstacle("its /etc is not a directory"));
        }
        try (ForeignDirectory directory = etc.get()) {
            String cache = Path.of(LdCache.PATH).getFileName().toString();
            Optional<byte[]> old;
            LdCache before;
            try {
                old = directory.read(cache, MOST_CACHE);
                before = old.isPresent() ? LdCache.parse(old.get()) : LdCache.empty();
            } catch (IOException e) {
                return Optional.of(
                        obstacle(
                                "its %s is unusable (%s)"
                                        .formatted(LdCache.PATH, FileErrors.reason(e))));
            }
            byte[] now = before.with(entries(), this::isFromUs).bytes();
            if (!Arrays.equals(now, old.orElse(null))) {
                directory.write(cache, now);
            }
        }
        Optional<ForeignDirectory> configs = root.directory("/etc/ld.so.conf.d");
        if (configs.isPresent()) {
            try (ForeignDirectory directory = configs.get()) {
                byte[] text =
                        ((compat.isUsed() ? compat.directory() + "\n" : "") + CONFIG_TEXT)
                                .getBytes(StandardCharsets.US_ASCII);
                if (!isFile(directory, text)) {
                    directory.write(CONFIG, text);
                }
            }
        }
        return Optional.empty();
    }

    private static boolean isFile(ForeignDirectory directory, byte[] text) {
        try {
            return Arrays.equals(text, directory.read(CONFIG, text.length).orElse(null));
        } catch (IOException e) {
            return false;
        }
    }

    private List<LdCache.Entry> entries() throws IOException {
        List<LdCache.Entry> entries = new ArrayList<>();
        for (String name : compat.names()) {
            String path = compat.directory() + "/" + name;
            entries.add(new LdCache.Entry(name, path, LdCache.flags(true)));
        }
        for (SearchedName name : names) {
            if (name.directory() != Directory.BIN) {
                entries.add(
                        new LdCache.Entry(
                                name.name(),
                                name.path(),
                                LdCache.flags(name.directory() == Directory.LIB64)));
            }
        }
        return entries;
    }

    private boolean isFromUs(String path) {
        return path.startsWith(DRIVER)
                || compat.isUsed() && path.startsWith(compat.directory() + "/");
    }

    private static Refusal obstacle(String why) {
        return new Refusal(
                "this container finds the driver by LD_LIBRARY_PATH alone: " + why,
                "repair the image, or keep " + DRIVER + Directory.LIB64 + " in that variable");
    }
}
