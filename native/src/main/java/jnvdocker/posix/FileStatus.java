package jnvdocker.posix;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.Map;

/** What stat(2) says of a file, which is not opened for that. */
public record FileStatus(int mode, long device) {
    private static final int S_IFMT = 0xf000;
    static final int S_IFCHR = 0x2000;
    private static final int S_IFDIR = 0x4000;

    public static FileStatus of(Path path, LinkOption... options) throws IOException {
        Map<String, Object> status = Files.readAttributes(path, "unix:mode,rdev", options);
        return new FileStatus((int) status.get("mode"), (long) status.get("rdev"));
    }

    /** Its number, or 0 for what is no character device. */
    public long characterDevice() {
        return (mode & S_IFMT) == S_IFCHR ? device : 0;
    }

    public boolean isFolder() {
        return (mode & S_IFMT) == S_IFDIR;
    }
}
