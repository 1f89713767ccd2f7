package jnvdocker.process;

import jnvdocker.posix.Errno;
import jnvdocker.posix.Posix;
import jnvdocker.posix.PosixException;
import jnvdocker.posix.ProcessId;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Predicate;

/**
 * Searches other mount namespaces for mounts. Only mounts that root or a container's engine has
 * made there are evidence: in a user namespace of their own, users may mount any directory that
 * they can reach, under any name.
 */
final class NamespaceScan {
    private static final String SELF = "self";
    private static final Comparator<ProcessId> BY_AGE =
            Comparator.comparingLong(ProcessId::startTime).thenComparingInt(ProcessId::pid);

    private final ProcDirectory processes;
    private final Path proc;
    private final Owners owners;
    private final MountScan.Limits limits;
    private final AtomicLong bytesRead = new AtomicLong();

    /** Finds the user with the rights to mount in a mount namespace. */
    interface Owners {
        /** The owners that the kernel reports. */
        Owners REAL = Posix::namespaceOwner;

        /**
         * @param namespace {@code /proc/<pid>/ns/mnt}
         */
        int of(Path namespace) throws PosixException;
    }

    NamespaceScan(ProcDirectory processes, Path proc, Owners owners, MountScan.Limits limits) {
        this.processes = processes;
        this.proc = proc;
        this.owners = owners;
        this.limits = limits;
    }

    /** Returns how many bytes of mountinfo were read since this object was made. */
    long bytesRead() {
        return bytesRead.get();
    }

    SeenMounts everywhere(Predicate<String> root) {
        Map<MountedDirectory, List<ProcessId>> holders = new HashMap<>();
        List<ProcessId> unread = new ArrayList<>();
        for (var namespace : otherNamespaces().entrySet()) {
            for (ProcessId process : namespace.getValue()) {
                Optional<Result> result = search(process, namespace.getKey(), root);
                if (result.isPresent()) {
                    for (MountedDirectory directory : result.get().found()) {
                        holders.computeIfAbsent(directory, _ -> new ArrayList<>()).add(process);
                    }
                    if (!result.get().complete()) {
                        unread.add(process);
                    }
                    // The other processes of this namespace have the same mounts, and are younger.
                    break;
                }
            }
        }
        holders.values().forEach(those -> those.sort(BY_AGE));
        return new SeenMounts(holders, unread);
    }

    /**
     * Returns the mounts of one process.
     *
     * @throws UncheckedIOException when it has more than the limits allow
     */
    Set<MountedDirectory> of(ProcessId process, Predicate<String> root) {
        String pid = String.valueOf(process.pid());
        Optional<Result> result = namespace(pid).flatMap(its -> search(process, its, root));
        if (result.filter(it -> !it.complete()).isPresent()) {
            throw new UncheckedIOException(
                    new IOException(
                            proc.resolve(pid).resolve("mountinfo")
                                    + " has more than "
                                    + limits.bytes()
                                    + " bytes"));
        }
        return result.map(Result::found).orElse(Set.of());
    }

    /**
     * The mounts of a process.
     *
     * @param complete whether all of its mountinfo was read
     */
    private record Result(Set<MountedDirectory> found, boolean complete) {
        static final Result NOTHING = new Result(Set.of(), true);
    }

    /** Returns empty unless the process was in that namespace until its mounts were read. */
    private Optional<Result> search(ProcessId process, String namespace, Predicate<String> root) {
        String pid = String.valueOf(process.pid());
        try {
            Result result = isRoots(pid) ? read(pid, root) : Result.NOTHING;
            return isIn(process, namespace) ? Optional.of(result) : Optional.empty();
        } catch (IOException e) {
            if (isIn(process, namespace)) {
                throw new UncheckedIOException(e);
            }
            return Optional.empty();
        }
    }

    private Result read(String pid, Predicate<String> root) throws IOException {
        MountScan scan = new MountScan(limits, root);
        try (InputStream mountinfo = Files.newInputStream(proc.resolve(pid).resolve("mountinfo"))) {
            boolean complete = scan.read(mountinfo);
            return new Result(scan.found(), complete);
        } finally {
            bytesRead.addAndGet(scan.bytes());
        }
    }

    /** Whether only root, or the maker of our own user namespace, can mount in there. */
    private boolean isRoots(String pid) throws IOException {
        try {
            int owner = owner(pid);
            return owner == 0 || owner == owner(SELF);
        } catch (PosixException e) {
            if (e.errno() == Errno.EPERM || e.errno() == Errno.ENOTTY) {
                // We are in a user namespace ourselves, or this kernel cannot report it.
                return true;
            }
            throw e;
        }
    }

    private int owner(String pid) throws PosixException {
        return owners.of(proc.resolve(pid).resolve("ns/mnt"));
    }

    /** Returns the processes of each mount namespace but ours, the oldest first. */
    private Map<String, List<ProcessId>> otherNamespaces() {
        Map<String, List<ProcessId>> namespaces = new HashMap<>();
        Optional<String> ours = namespace(SELF);
        for (String pid : processes.pids()) {
            Optional<String> namespace = namespace(pid);
            if (namespace.isPresent() && !namespace.equals(ours)) {
                processes
                        .find(Integer.parseInt(pid))
                        .ifPresent(process ->
                                namespaces
                                        .computeIfAbsent(namespace.get(), _ -> new ArrayList<>())
                                        .add(process));
            }
        }
        namespaces.values().forEach(those -> those.sort(BY_AGE));
        return namespaces;
    }

    /**
     * Returns the mount namespace of a process. Empty when the process has gone, is ending and has
     * left the namespace, or is shielded from us: some are even from root, but no container's is.
     */
    private Optional<String> namespace(String pid) {
        try {
            Path link = proc.resolve(pid).resolve("ns/mnt");
            return Optional.of(Files.readSymbolicLink(link).toString());
        } catch (NoSuchFileException | AccessDeniedException e) {
            return Optional.empty();
        } catch (IOException e) {
            if (Files.notExists(proc.resolve(pid))) {
                return Optional.empty();
            }
            throw new UncheckedIOException(e);
        }
    }

    private boolean isIn(ProcessId process, String namespace) {
        return namespace(String.valueOf(process.pid())).equals(Optional.of(namespace))
                && processes.isAlive(process);
    }
}
