package jnvdocker.holder;

import jnvdocker.lease.Claim;
import jnvdocker.lease.Lease;
import jnvdocker.posix.ProcessId;
import jnvdocker.process.MountedDirectory;
import jnvdocker.process.ProcessTraits;
import jnvdocker.process.Processes;
import jnvdocker.process.SeenMounts;
import jnvdocker.registry.ClaimFiles;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Which claims are mounted, by what only root and its engines can mount. */
public final class ClaimMounts {
    private static final String LAST = "/" + ClaimFiles.MOUNTED;
    private static final Pattern CLAIM =
            Pattern.compile(".*/" + ClaimFiles.DIRECTORY + "/([0-9a-f]{12})" + LAST);

    private final Processes processes;
    private final Path state;

    /**
     * @param state the state directory, in which our claims are
     */
    ClaimMounts(Processes processes, Path state) {
        this.processes = processes;
        this.state = state;
    }

    /**
     * The claims that are mounted.
     *
     * @param ours the processes that have a claim of our state directory mounted, by its id: one of
     *     each namespace, the oldest first
     * @param unread a process of each namespace that has more mounts than are read: any claim may
     *     be mounted there, too
     */
    public record Seen(Map<String, List<ProcessId>> ours, List<ProcessId> unread) {
        /** Whether all mounts were read. */
        public boolean complete() {
            return unread.isEmpty();
        }
    }

    Seen seen() {
        SeenMounts mounts = processes.mounts(ClaimMounts::isAClaims);
        Optional<MountedDirectory> claims = claims();
        // In order of their ids, so that leases that are given back are numbered likewise each
        // time.
        Map<String, List<ProcessId>> ours = new TreeMap<>();
        mounts.holders()
                .forEach((directory, holders) -> {
                    if (isOurs(directory, claims)) {
                        ours.computeIfAbsent(claimOf(directory), _ -> new ArrayList<>())
                                .addAll(holders);
                    }
                });
        return new Seen(ours, mounts.unread());
    }

    /**
     * A process that has a lease's claim mounted and may be of its holder: one in a cgroup named
     * after its container if there is one, else the oldest.
     */
    Optional<ProcessId> inside(Lease lease, Seen mounted) {
        List<ProcessId> mounting = mounted.ours().getOrDefault(lease.claim().id(), List.of());
        return itsOwn(lease.claim(), mounting)
                .or(() ->
                        mounting.stream()
                                .filter(process -> !isOfAnother(process, lease))
                                .findFirst());
    }

    /**
     * Whether a process of a lease's holder may be in a namespace with more mounts than are read. A
     * container with the right to mount decides how many its namespace has: it says nothing of
     * other containers.
     */
    boolean mayBeUnread(Lease lease, Seen mounted) {
        return mounted.unread().stream().anyMatch(process -> !isOfAnother(process, lease));
    }

    /** The oldest process in a cgroup that is named after the container of a claim. */
    Optional<ProcessId> itsOwn(Claim claim, List<ProcessId> mounting) {
        return mounting.stream().filter(process -> isOfContainer(process, claim)).findFirst();
    }

    private boolean isOfContainer(ProcessId process, Claim claim) {
        return claim.container().flatMap(its -> processes.cgroup(process, its.id())).isPresent();
    }

    /**
     * Whether a process is of a container that is not the holder of a lease. Any user of an engine
     * can have it mount the directory of any claim in any container.
     */
    boolean isOfAnother(ProcessId process, Lease lease) {
        Optional<String> cgroup = lease.holder().cgroup();
        if (cgroup.isEmpty()) {
            return false;
        }
        boolean others =
                processes
                        .traits(process)
                        .flatMap(ProcessTraits::container)
                        .filter(id -> !cgroup.get().contains(id))
                        .isPresent();
        return others && !isOfContainer(process, lease.claim());
    }

    /** How mounts of our claims are spelled; empty when that cannot be determined. */
    private Optional<MountedDirectory> claims() {
        return processes.spell(state).map(directory -> directory.resolve(ClaimFiles.DIRECTORY));
    }

    private static boolean isAClaims(String path) {
        return path.endsWith(LAST) && CLAIM.matcher(path).matches();
    }

    /**
     * Whether a directory belongs to one of our claims. Where that cannot be determined, it counts
     * as ours: a missed mount would be a missed holder.
     */
    private static boolean isOurs(MountedDirectory directory, Optional<MountedDirectory> claims) {
        return claims.isEmpty()
                || claims.get()
                        .resolve(claimOf(directory))
                        .resolve(ClaimFiles.MOUNTED)
                        .equals(directory);
    }

    /** The id of the claim to which a mounted directory belongs. */
    static String claimOf(MountedDirectory directory) {
        Matcher matcher = CLAIM.matcher(directory.path());
        if (!matcher.matches()) {
            throw new IllegalArgumentException(directory + " is no claim's");
        }
        return matcher.group(1);
    }

    /** Whether a process has a claim of ours mounted. */
    boolean has(ProcessId process, String claim) {
        Optional<MountedDirectory> claims = claims();
        return processes.mounts(process, ClaimMounts::isAClaims).stream()
                .anyMatch(
                        directory -> isOurs(directory, claims) && claimOf(directory).equals(claim));
    }
}
