package jnvdocker.program;

import jnvdocker.words.RefusedException;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;

/** Whether nobody but root can put something else into a directory, or into its place. */
public final class TrustedFolder {
    private static final int OTHERS_WRITE = 0022;
    private static final int STICKY = 01000;

    private TrustedFolder() {}

    /**
     * @param folder one that is there, or that is to be made
     * @throws RefusedException naming the directory that somebody else may write to
     */
    public static void check(Path folder) throws RefusedException, IOException {
        Path there = folder;
        while (!Files.exists(there, LinkOption.NOFOLLOW_LINKS)) {
            there = there.getParent();
        }
        // Each part of the name: a link is as good as the directory that it is in.
        for (Path part = there; part != null; part = part.getParent()) {
            checkReal(part.toRealPath(), part.equals(folder));
        }
    }

    private static void checkReal(Path folder, boolean itself)
            throws RefusedException, IOException {
        for (Path each = folder; each != null; each = each.getParent()) {
            int mode = (Integer) Files.getAttribute(each, "unix:mode");
            boolean roots = (Integer) Files.getAttribute(each, "unix:uid") == 0;
            boolean sticky = (mode & STICKY) != 0 && !(itself && each.equals(folder));
            if (!roots || (mode & OTHERS_WRITE) != 0 && !sticky) {
                throw new RefusedException(
                        "users other than root can write to "
                                + each
                                + ", and so could run anything as root",
                        "use another directory, or take their right with chmod go-w and chown"
                                + " root");
            }
        }
    }
}
