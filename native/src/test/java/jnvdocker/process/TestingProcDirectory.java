package jnvdocker.process;

import jnvdocker.posix.PosixException;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;

/** A proc file system as text; our own process is in the mount namespace {@code mnt:[1]}. */
final class TestingProcDirectory {
    private final Path proc;
    private final Map<String, Integer> owners = new HashMap<>();

    TestingProcDirectory(Path proc) throws IOException {
        this.proc = proc;
        file("self/mountinfo", "");
        namespace("self", 1);
    }

    Processes processes() {
        return processes(MountScan.Limits.USUAL, DescriptorLimits.USUAL);
    }

    ProcDirectory processes(MountScan.Limits mounts, DescriptorLimits descriptors) {
        return new ProcDirectory(proc, this::owner, mounts, descriptors);
    }

    private int owner(Path namespace) throws PosixException {
        try {
            String name = Files.readSymbolicLink(namespace).toString();
            return owners.getOrDefault(name, 0);
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    /** A mount namespace that is not root's. */
    TestingProcDirectory owner(int namespace, int uid) {
        owners.put("mnt:[" + namespace + "]", uid);
        return this;
    }

    /** A sleeping process. */
    TestingProcDirectory process(int pid, long startTime) throws IOException {
        return stat(pid, stat("sleep", 'S', 1, startTime));
    }

    TestingProcDirectory stat(int pid, String line) throws IOException {
        return file(pid + "/stat", pid + " " + line + "\n");
    }

    TestingProcDirectory mounts(int pid, int namespace, String... roots) throws IOException {
        StringBuilder text = new StringBuilder();
        for (String root : roots) {
            text.append("63 43 254:0 " + root + " /mnt rw,relatime - ext4 /dev/vda rw,discard\n");
        }
        namespace(String.valueOf(pid), namespace);
        return file(pid + "/mountinfo", text.toString());
    }

    TestingProcDirectory file(String path, String text) throws IOException {
        Files.createDirectories(proc.resolve(path).getParent());
        Files.writeString(proc.resolve(path), text);
        return this;
    }

    /** The targets of the descriptors of a process, or of one of its threads. */
    TestingProcDirectory descriptors(String process, String... targets) throws IOException {
        Path directory = Files.createDirectories(proc.resolve(process).resolve("fd"));
        for (int i = 0; i < targets.length; i++) {
            Files.createSymbolicLink(directory.resolve(String.valueOf(i)), Path.of(targets[i]));
        }
        return this;
    }

    private void namespace(String process, int namespace) throws IOException {
        Path link = proc.resolve(process).resolve("ns/mnt");
        Files.createDirectories(link.getParent());
        if (!Files.exists(link, LinkOption.NOFOLLOW_LINKS)) {
            Files.createSymbolicLink(link, Path.of("mnt:[" + namespace + "]"));
        }
    }

    /** The rest of a line of stat after the pid, as Linux 6.1 writes it. */
    static String stat(String name, char state, int threads, long startTime) {
        return "(%s) %s 1 7 7 0 -1 4194304 98 0 0 0 0 0 0 0 20 0 %d 0 %d 5537792 209 184467"
                        .formatted(name, state, threads, startTime)
                + " 1 1 0 0 0 0 0 0 0 0 0 0 17 1 0 0 0 0 0 0 0 0 0 0 0 0 0";
    }
}
