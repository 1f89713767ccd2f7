package jnvdocker.volume.files;

import jnvdocker.host.Host;
import jnvdocker.posix.FileErrors;
import jnvdocker.volume.files.DriverFiles.DataFile;
import jnvdocker.volume.files.DriverFiles.LeftOut;
import jnvdocker.volume.files.GraphicsFiles.Group;

import java.io.IOException;
import java.nio.file.FileSystemLoopException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/** Finds the {@link GraphicsFiles} on the host. A driver may have none. */
final class GraphicsSearch {
    private static final int SET_UID_OR_GID = 06000;

    private final Host host;
    private final Collection<String> libraries;
    private final List<DataFile> files = new ArrayList<>();
    private final Set<LeftOut> leftOut = new LinkedHashSet<>();

    /**
     * @param libraries the directories of the driver's libraries: Debian has nvoptix.bin among
     *     them, and a driver in a place of its own has the others in {@code share} beside its
     *     {@code lib64}
     */
    GraphicsSearch(Host host, Collection<String> libraries) {
        this.host = host;
        this.libraries = List.copyOf(libraries);
    }

    void run() throws IOException {
        for (Group group : GraphicsFiles.GROUPS) {
            for (String name : group.names()) {
                take(group, name);
            }
        }
    }

    List<DataFile> files() {
        return List.copyOf(files);
    }

    List<LeftOut> leftOut() {
        return List.copyOf(leftOut);
    }

    private void take(Group group, String name) throws IOException {
        for (String place : places(group, name)) {
            if (exists(place) && take(group, name, place)) {
                return;
            }
        }
    }

    private List<String> places(Group group, String name) {
        List<String> places = new ArrayList<>(group.places(name));
        for (String directory : libraries) {
            if (!name.endsWith(".json")) {
                places.add(directory + "/" + name);
            }
            Path share = Path.of(directory).resolveSibling("share");
            places.add(share.resolve(group.directory()).resolve(name).toString());
        }
        return places;
    }

    private boolean take(Group group, String name, String place) throws IOException {
        Path file;
        try {
            file = host.resolve(place);
        } catch (FileSystemLoopException e) {
            leaveOut(place, "this link leads in a circle");
            return false;
        }
        String real = host.spell(file);
        if (!Files.exists(file, LinkOption.NOFOLLOW_LINKS)) {
            leaveOut(place, "this link leads nowhere: " + real + " does not exist");
            return false;
        }
        Optional<String> fault = fault(file, group.most());
        if (fault.isPresent()) {
            leaveOut(real, fault.get());
            return false;
        }
        return files.add(new DataFile(group.inVolume(name), real, Files.size(file)));
    }

    private static Optional<String> fault(Path file, long most) {
        try {
            if (!Files.isRegularFile(file, LinkOption.NOFOLLOW_LINKS)) {
                return Optional.of("not a regular file");
            }
            int mode = (int) Files.getAttribute(file, "unix:mode", LinkOption.NOFOLLOW_LINKS);
            if ((mode & SET_UID_OR_GID) != 0) {
                return Optional.of("set-uid or set-gid: it would give its owner's rights away");
            }
            return Files.size(file) > most
                    ? Optional.of("larger than " + (most >> 10) + " KiB")
                    : Optional.empty();
        } catch (IOException e) {
            return Optional.of("it cannot be read: " + FileErrors.reason(e));
        }
    }

    private void leaveOut(String path, String fault) {
        leftOut.add(new LeftOut(path, new Reason.Fault(fault)));
    }

    private boolean exists(String path) throws IOException {
        try {
            return Files.exists(host.resolveParent(path), LinkOption.NOFOLLOW_LINKS);
        } catch (FileSystemLoopException e) {
            return false;
        }
    }
}
