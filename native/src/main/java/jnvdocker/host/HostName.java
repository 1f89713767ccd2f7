package jnvdocker.host;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** The name of this host, as {@code hostname} prints it. */
public final class HostName {
    private static final Path FILE = Path.of("/proc/sys/kernel/hostname");

    private HostName() {}

    /** Returns the name that the kernel has at this moment. */
    public static String read() throws IOException {
        return Files.readString(FILE).strip();
    }
}
