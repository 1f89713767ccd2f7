package jnvdocker.program;

import jnvdocker.posix.Posix;
import jnvdocker.words.RefusedException;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.Optional;

/** Checks that only root can change a directory, or replace it. */
public final class TrustedFolder {
    private static final int OTHERS_WRITE = 0022;
    private static final int STICKY = 01000;

    private TrustedFolder() {}

    /**
     * @param folder one that is there, or that is to be made
     * @throws RefusedException naming the directory that another user may write to
     */
    public static void check(Path folder) throws RefusedException, IOException {
        Optional<Path> open = openToOthers(folder);
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
     * @param folder one that is there, or that is to be made
     */
    public static Optional<Path> openToOthers(Path folder) throws IOException {
        Path there = folder;
        while (!Files.exists(there, LinkOption.NOFOLLOW_LINKS)) {
            there = there.getParent();
        }
        // Each part of the name: a link is as good as the directory that it is in.
        for (Path part = there; part != null; part = part.getParent()) {
            Optional<Path> open = realOpenToOthers(part.toRealPath(), part.equals(folder));
            if (open.isPresent()) {
                return open;
            }
        }
        return Optional.empty();
    }

    private static Optional<Path> realOpenToOthers(Path folder, boolean itself) throws IOException {
        for (Path each = folder; each != null; each = each.getParent()) {
            int mode = (Integer) Files.getAttribute(each, "unix:mode");
            boolean sticky = (mode & STICKY) != 0 && !(itself && each.equals(folder));
            boolean roots = Posix.isRootOrSelf((Integer) Files.getAttribute(each, "unix:uid"));
            if (!roots || (mode & OTHERS_WRITE) != 0 && !sticky) {
                return Optional.of(each);
            }
        }
        return Optional.empty();
    }
}
