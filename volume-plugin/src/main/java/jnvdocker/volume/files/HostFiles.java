package jnvdocker.volume.files;

import jnvdocker.host.Host;
import jnvdocker.volume.files.DriverFiles.LeftOut;

import java.io.IOException;
import java.nio.file.FileSystemLoopException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/** Follows paths on the host to files, and keeps those that are left out, with the reason. */
final class HostFiles {
    private final Host host;
    private final Set<LeftOut> leftOut = new LinkedHashSet<>();

    HostFiles(Host host) {
        this.host = host;
    }

    boolean isThere(String path) throws IOException {
        try {
            return Files.exists(host.resolveParent(path), LinkOption.NOFOLLOW_LINKS);
        } catch (FileSystemLoopException e) {
            return false;
        }
    }

    /** The file that a path leads to; empty if it leads to none: a link that does is left out. */
    Optional<Path> follow(String path) throws IOException {
        if (!isThere(path)) {
            return Optional.empty();
        }
        Path file;
        try {
            file = host.resolve(path);
        } catch (FileSystemLoopException e) {
            leaveOut(path, "this link leads in a circle");
            return Optional.empty();
        }
        if (!Files.exists(file, LinkOption.NOFOLLOW_LINKS)) {
            leaveOut(path, "this link leads nowhere: " + host.spell(file) + " does not exist");
            return Optional.empty();
        }
        return Optional.of(file);
    }

    void leaveOut(String path, String fault) {
        leaveOut(path, new Reason.Fault(fault));
    }

    void leaveOut(String path, Reason reason) {
        leftOut.add(new LeftOut(path, reason));
    }

    List<LeftOut> leftOut() {
        return List.copyOf(leftOut);
    }
}
