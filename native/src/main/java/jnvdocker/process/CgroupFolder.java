package jnvdocker.process;

import java.io.IOException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;

/** A folder below {@code /sys/fs/cgroup} (see cgroups(7)). */
record CgroupFolder(Path path) {
    /** Whether a process is in it or below it; none is when it is gone. */
    boolean hasProcesses() throws IOException {
        try {
            Path events = path.resolve("cgroup.events");
            return Files.exists(events)
                    ? Files.readAllLines(events).contains("populated 1")
                    : !Files.readString(path.resolve("cgroup.procs")).isEmpty()
                            || hasProcessesBelow();
        } catch (IOException e) {
            // Its files fail in several ways when it is removed meanwhile.
            if (Files.notExists(path)) {
                return false;
            }
            throw e;
        }
    }

    private boolean hasProcessesBelow() throws IOException {
        try (DirectoryStream<Path> folders = Files.newDirectoryStream(path, Files::isDirectory)) {
            for (Path folder : folders) {
                if (new CgroupFolder(folder).hasProcesses()) {
                    return true;
                }
            }
            return false;
        } catch (DirectoryIteratorException e) {
            throw e.getCause();
        }
    }
}
