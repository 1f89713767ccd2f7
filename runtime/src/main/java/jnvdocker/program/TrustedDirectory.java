package jnvdocker.program;

import jnvdocker.posix.Posix;
import jnvdocker.words.RefusedException;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.Optional;

/** Checks that only root can change a directory, or replace it. */
public final class TrustedDirectory {
    private static final int OTHERS_WRITE = 0022;
    private static final int STICKY = 01000;

    private TrustedDirectory() {}

    /**
     * @param directory one that is there, or that is to be made
     * @throws RefusedException naming the directory that another user may write to
     */
    public static void check(Path directory) throws RefusedException, IOException {
        Optional<Path> open = openToOthers(directory);
        if (open.isPresent()) {
            throw new RefusedException(
                    "users other than root can write to "
                            + open.get()
                            + ", and so could run anything as root",
                    "use another directory, or take their right with chmod go-w and chown root");
        }
    }

    /**
     * The directory that another user may write to: this one, or one that its name leads through.
     *
     * @param directory one that is there, or that is to be made
     */
    public static Optional<Path> openToOthers(Path directory) throws IOException {
        Path there = directory;
        while (!Files.exists(there, LinkOption.NOFOLLOW_LINKS)) {
            there = there.getParent();
        }
        // Each part of the name: a link is as good as the directory that it is in.
        for (Path part = there; part != null; part = part.getParent()) {
            Optional<Path> open = realOpenToOthers(part.toRealPath(), part.equals(directory));
            if (open.isPresent()) {
                return open;
            }
        }
        return Optional.empty();
    }

    private static Optional<Path> realOpenToOthers(Path directory, boolean itself)
            throws IOException {
        for (Path each = directory; each != null; each = each.getParent()) {
            int mode = (Integer) Files.getAttribute(each, "unix:mode");
            boolean sticky = (mode & STICKY) != 0 && !(itself && each.equals(directory));
            boolean roots = Posix.isRootOrSelf((Integer) Files.getAttribute(each, "unix:uid"));
            if (!roots || (mode & OTHERS_WRITE) != 0 && !sticky) {
                return Optional.of(each);
            }
        }
        return Optional.empty();
    }
}
