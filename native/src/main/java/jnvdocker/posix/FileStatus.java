package jnvdocker.posix;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.Map;

/** The result of stat(2), which does not open the file. */
public record FileStatus(int mode, long device) {
    private static final int S_IFMT = 0xf000;
    static final int S_IFCHR = 0x2000;
    private static final int S_IFDIR = 0x4000;

    public static FileStatus of(Path path, LinkOption... options) throws IOException {
        Map<String, Object> status = Files.readAttributes(path, "unix:mode,rdev", options);
        return new FileStatus((int) status.get("mode"), (long) status.get("rdev"));
    }

    /** Returns its device number, or 0 if it is not a character device. */
    public long characterDevice() {
        return (mode & S_IFMT) == S_IFCHR ? device : 0;
    }

    public boolean isDirectory() {
        return (mode & S_IFMT) == S_IFDIR;
    }
}
