package jnvdocker.mesos.agent;

import jnvdocker.posix.Posix;
import jnvdocker.posix.RegularFile;
import jnvdocker.posix.WholeFile;
import jnvdocker.program.TrustedDirectory;
import jnvdocker.words.RefusedException;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;

/**
 * The directory that an agent's {@code --launcher_dir} names:
 *
 * <pre>
 * mesos-containerizer   ours, which queries the daemon and then becomes the agent's own
 * jnvdocker-prestart    ours, which gives a container its GPUs
 * mesos-executor, …     links to all the others in the agent's own directory
 * </pre>
 *
 * The agent may use it at any time, so each file is replaced as a whole, and the one that uses the
 * others comes last.
 */
public final class LauncherDirectory {
    public static final String CONTAINERIZER = "mesos-containerizer";

    private static final String PRESTART = "jnvdocker-prestart";
    private static final int MODE = 0755;

    /** Ours is far smaller. */
    private static final int LIMIT = 1 << 24;

    private static final Object ONE_AT_A_TIME = new Object();

    private final Path directory;

    /**
     * @param directory absolute; it need not be there yet
     */
    public LauncherDirectory(Path directory) {
        this.directory = directory;
    }

    /**
     * The installation.
     *
     * @param linked the names of the agent's helpers, in order
     * @param dangling links in the agent's directory that lead to nothing, and so were skipped
     */
    public record LaidOut(List<String> linked, List<Path> dangling) {
        public LaidOut {
            linked = List.copyOf(linked);
            dangling = List.copyOf(dangling);
        }
    }

    /** Whether an agent with this directory would query our daemon. */
    public boolean isLaidOut() throws IOException {
        return isOurs(directory.resolve(CONTAINERIZER));
    }

    /**
     * Creates the directory, or updates it. Only root can.
     *
     * @param libexec the directory of the agent's own helpers
     * @param programs the directory of our programs
     * @param socket the daemon's
     * @throws RefusedException when one of these directories cannot be used, or the directory has
     *     files that are not ours; nothing was changed then
     */
    public LaidOut layOut(Path libexec, Path programs, Path socket)
            throws RefusedException, IOException {
        synchronized (ONE_AT_A_TIME) {
            TrustedDirectory.check(directory);
            checkLibexec(libexec);
            Path helper = libexec.resolve(CONTAINERIZER);
            byte[] containerizer =
                    HookProgram.settle(
                            read(programs.resolve(CONTAINERIZER)),
                            helper,
                            directory.resolve(PRESTART),
                            socket);
            byte[] prestart = read(programs.resolve(PRESTART));
            LaidOut others = others(libexec);
            checkContents();
            Files.createDirectories(directory);
            Posix.chmod(directory, MODE);
            put(PRESTART, prestart);
            for (String name : others.linked()) {
                // A link that leads elsewhere is of an earlier install.
                WholeFile.link(directory.resolve(name), libexec.resolve(name));
            }
            put(CONTAINERIZER, containerizer);
            return others;
        }
    }

    /**
     * Replaces our programs, if the directory was laid out for this daemon and has others than
     * those of this version. The agent's own tasks go on: it starts a program for each.
     *
     * @return whether they were replaced
     */
    public boolean renew(Path libexec, Path programs, Path socket)
            throws RefusedException, IOException {
        Path installed = directory.resolve(CONTAINERIZER);
        if (!isLaidOut()) {
            return false;
        }
        byte[] before = read(installed);
        if (!HookProgram.socket(before).equals(Optional.of(socket.toString()))) {
            return false;
        }
        byte[] now =
                HookProgram.settle(
                        read(programs.resolve(CONTAINERIZER)),
                        libexec.resolve(CONTAINERIZER),
                        directory.resolve(PRESTART),
                        socket);
        boolean same =
                Arrays.equals(now, before)
                        && Arrays.equals(
                                read(programs.resolve(PRESTART)),
                                read(directory.resolve(PRESTART)));
        if (!same) {
            layOut(libexec, programs, socket);
        }
        return !same;
    }

    private void put(String name, byte[] program) throws IOException {
        WholeFile.write(directory.resolve(name), program, WholeFile.Access.root(MODE));
    }

    private void checkLibexec(Path libexec) throws RefusedException, IOException {
        Path helper = libexec.resolve(CONTAINERIZER);
        if (!Files.isRegularFile(helper) || !Files.isExecutable(helper)) {
            throw new RefusedException(
                    "there is no program " + helper,
                    "name the directory of the agent's own helpers with --mesos-libexec (the"
                            + " agent's --launcher_dir until now, often /usr/libexec/mesos)");
        }
        if (Files.exists(directory) && Files.isSameFile(directory, libexec)) {
            throw new RefusedException(
                    directory
                            + " is the agent's own directory, whose mesos-containerizer is needed",
                    "name another directory with --launcher-dir");
        }
        if (isOurs(helper)) {
            throw new RefusedException(
                    helper + " is jnvdocker's own, and would call itself",
                    "name the directory of the agent's own helpers with --mesos-libexec");
        }
    }

    /** Only our own files are overwritten, and links. */
    private void checkContents() throws RefusedException, IOException {
        if (!Files.exists(directory, LinkOption.NOFOLLOW_LINKS)) {
            return;
        }
        try (DirectoryStream<Path> entries = Files.newDirectoryStream(directory)) {
            for (Path entry : entries) {
                if (!isLink(entry) && !isProgramOfOurs(entry)) {
                    throw new RefusedException(
                            entry + " does not belong to jnvdocker",
                            "move it away, or use an empty directory");
                }
            }
        }
    }

    private static boolean isLink(Path entry) {
        return Files.isSymbolicLink(entry);
    }

    private static boolean isProgram(Path entry) {
        return Set.of(CONTAINERIZER, PRESTART).contains(entry.getFileName().toString());
    }

    private boolean isProgramOfOurs(Path entry) throws IOException {
        String name = entry.getFileName().toString();
        if (!Files.isRegularFile(entry, LinkOption.NOFOLLOW_LINKS)) {
            return false;
        }
        return name.equals(CONTAINERIZER)
                ? isOurs(entry)
                : name.equals(PRESTART)
                        || name.equals(fresh(PRESTART))
                        || name.equals(fresh(CONTAINERIZER));
    }

    private static String fresh(String name) {
        return WholeFile.fresh(Path.of(name)).toString();
    }

    private static boolean isOurs(Path program) throws IOException {
        return Files.isRegularFile(program)
                && Files.size(program) <= LIMIT
                && HookProgram.isOurs(RegularFile.read(program, LIMIT).orElse(new byte[0]));
    }

    private static byte[] read(Path program) throws RefusedException, IOException {
        return RegularFile.read(program, LIMIT)
                .orElseThrow(() ->
                        new RefusedException(
                                "this installation has no " + program, "install jnvdocker again"));
    }

    /** All files in the agent's directory except the one that ours replaces. */
    private static LaidOut others(Path libexec) throws IOException {
        Set<String> names = new TreeSet<>();
        Set<Path> dangling = new TreeSet<>();
        try (DirectoryStream<Path> entries = Files.newDirectoryStream(libexec)) {
            for (Path entry : entries) {
                if (Files.isRegularFile(entry) && !isProgram(entry)) {
                    names.add(entry.getFileName().toString());
                } else if (isLink(entry) && !Files.exists(entry)) {
                    dangling.add(entry);
                }
            }
        }
        return new LaidOut(List.copyOf(names), List.copyOf(dangling));
    }
}
