package jnvdocker.oci.lease;

import jnvdocker.holder.Evidence;
import jnvdocker.holder.Pace;
import jnvdocker.keeper.ClaimRemover;
import jnvdocker.keeper.Keeper;
import jnvdocker.lease.Claim;
import jnvdocker.lease.Lease;
import jnvdocker.posix.FileErrors;
import jnvdocker.posix.PermanentThread;
import jnvdocker.posix.ProcessId;
import jnvdocker.posix.RegularFile;
import jnvdocker.posix.WakeSocket;
import jnvdocker.process.StartedProgram;
import jnvdocker.registry.ClaimFiles;
import jnvdocker.registry.LeaseRegistry;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Keeps track, in the background, of containers that our OCI runtime creates: learns of their first
 * processes, detects their ends, and removes the files that were made for them. Our runtime reports
 * deletions; an end is detected without that, too.
 */
public final class OciKeeper implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(OciKeeper.class);

    private static final Duration WAKE = Duration.ofSeconds(1);
    private static final Duration FIRST_STEPS = Duration.ofMillis(5);
    private static final Duration LATER_STEPS = Duration.ofMillis(50);
    private static final int FEW = 100;

    /** A container that is being deleted, and the process that does it. */
    private static final Pattern DELETION = Pattern.compile("(\\S+) ([0-9]{1,9})");

    private static final String PODMAN = "podman";

    private static final List<String> SERVICE = List.of("system", "service");

    /** The longest file with a pid in it, in bytes. */
    private static final int PID_LENGTH = 32;

    private final LeaseRegistry registry;
    private final ClaimFiles files;
    private final Evidence evidence;
    private final Keeper keeper;
    private final ClaimRemover remover;
    private final Pace pace;

    /** Claims that have a directory, of which some may have ended. */
    private final Set<String> directories = ConcurrentHashMap.newKeySet();

    private volatile Optional<EditedContainers> edited = Optional.empty();
    private volatile boolean closed;

    public OciKeeper(
            LeaseRegistry registry,
            ClaimFiles files,
            Evidence evidence,
            Keeper keeper,
            ClaimRemover remover,
            Pace pace) {
        this.registry = registry;
        this.files = files;
        this.evidence = evidence;
        this.keeper = keeper;
        this.remover = remover;
        this.pace = pace;
    }

    /**
     * Does all of that until it is closed.
     *
     * @param edited the containers that our runtime has edited
     * @param wake the name of the socket to which our runtime sends the ids of those that are
     *     deleted, each with its own pid
     */
    public void start(EditedContainers edited, Path wake) throws IOException {
        this.edited = Optional.of(edited);
        for (Lease lease : live()) {
            follow(lease, Optional.empty());
        }
        remember();
        tidy();
        keeper.after(_ -> tidy());
        WakeSocket socket = WakeSocket.bind(wake, WAKE);
        PermanentThread.platform("deletions", () -> listen(socket)).start();
    }

    /** Containers may have ended before this daemon began, or while it did. */
    public void remember() throws IOException {
        live().forEach(this::remember);
        for (String claim : files.ids()) {
            if (registry.claims().hasRequest(claim) || isOfOneStart(claim)) {
                directories.add(claim);
            }
        }
    }

    /** Decides by the claim's file: a recovered claim may have lost its origin. */
    private boolean isOfOneStart(String claim) {
        return files.read(claim)
                .map(Claim::origin)
                .filter(origin -> origin.isMounted() && origin.isOverWithItsLease())
                .isPresent();
    }

    private List<Lease> live() throws IOException {
        return registry.live().stream().filter(OciKeeper::isOci).toList();
    }

    private static boolean isOci(Lease lease) {
        return lease.claim().container().isPresent()
                && lease.claim().origin().runtimeRoot().isPresent();
    }

    private static String container(Lease lease) {
        return lease.claim().container().map(Claim.ContainerRef::id).orElseThrow();
    }

    /** Remembers a lease, to remove its directory once the container has ended. */
    public void remember(Lease lease) {
        directories.add(lease.claim().id());
    }

    /**
     * Learns of the first process of a container that is just being created.
     *
     * @param pidFile to which the real runtime writes its pid
     */
    public void follow(Lease lease, Optional<Path> pidFile) {
        keeper.created(lease);
        if (lease.isReservation()) {
            // Nothing else learns of it, so it goes on after the host or the registry has failed.
            PermanentThread.virtual("creation", () -> learn(lease, pidFile)).start();
        }
    }

    /**
     * Learns of the first process of a container that does not run yet.
     *
     * @return whether it is one of that container
     */
    public boolean begin(Lease lease, int init) throws IOException {
        remember(lease);
        keeper.created(lease);
        Optional<ProcessId> process = evidence.process(init);
        return process.isPresent() && began(lease, process.get());
    }

    private void learn(Lease lease, Optional<Path> pidFile) throws IOException {
        for (int step = 0; !closed && !check(lease, pidFile); step++) {
            pace.sleep(step < FEW ? FIRST_STEPS : LATER_STEPS);
        }
    }

    /**
     * Whether it is known what has become of a creation.
     *
     * @throws IOException when that cannot be written
     */
    public boolean check(Lease lease, Optional<Path> pidFile) throws IOException {
        // Read first: once our runtime has exited, a missing pid file will never appear.
        boolean creating = evidence.isAlive(lease.holder().process());
        Optional<Integer> pid = pidFile.flatMap(OciKeeper::pid);
        Optional<ProcessId> init = pid.flatMap(evidence::process);
        if (init.isPresent() && began(lease, init.get())) {
            return true;
        }
        if (creating) {
            return false;
        }
        Optional<ProcessId> inside = evidence.inside(lease);
        if (inside.isPresent()) {
            return began(lease, inside.get());
        }
        if (pid.isPresent()) {
            ranBriefly(lease, pid.get());
            return true;
        }
        keeper.end(List.of(lease), Keeper.Caller.WAITER);
        return true;
    }

    /**
     * Whether a process is of the container of a lease, which is known by it from now on. One that
     * ends before its cgroup is read is not: processes of other containers may have the claim
     * mounted, and only the cgroup tells them from the holder's.
     */
    private boolean began(Lease lease, ProcessId init) throws IOException {
        Optional<String> cgroup = evidence.cgroup(init, container(lease));
        if (cgroup.isEmpty() && !(evidence.isInside(init, lease) && evidence.isAlive(init))) {
            return false;
        }
        registry.decide(leases -> leases.hold(lease, lease.holder().startedAs(init, cgroup)));
        return true;
    }

    /**
     * The first process has ended before it was seen: the engine may start the container again. Its
     * start time was not seen either: that of its creation is no later process's.
     */
    private void ranBriefly(Lease lease, int pid) throws IOException {
        ProcessId init = new ProcessId(pid, lease.holder().process().startTime());
        registry.decide(
                leases -> leases.hold(lease, lease.holder().startedAs(init, Optional.empty())));
        keeper.recheck(lease.claim().id());
    }

    private static Optional<Integer> pid(Path file) {
        try {
            return RegularFile.read(file, PID_LENGTH)
                    .map(bytes -> new String(bytes, StandardCharsets.US_ASCII).strip())
                    .map(Integer::parseInt)
                    .filter(pid -> pid > 0);
        } catch (IOException | NumberFormatException e) {
            // It is just being written, or gone.
            return Optional.empty();
        }
    }

    private void listen(WakeSocket socket) throws IOException {
        while (!closed) {
            socket.receive()
                    .map(DELETION::matcher)
                    .filter(Matcher::matches)
                    .ifPresent(it -> deleted(it.group(1), Integer.parseInt(it.group(2))));
        }
        socket.close();
    }

    /**
     * The keeper checks whether the container is gone.
     *
     * @param pid of our runtime, which becomes the real one
     */
    private void deleted(String container, int pid) {
        try {
            keeper.deleted(
                    live().stream().filter(lease -> container(lease).equals(container)).toList(),
                    evidence.process(pid).map(this::deciding));
        } catch (IOException e) {
            LOG.warn("the end of a container is seen later: {}", FileErrors.describe(e));
        }
    }

    /**
     * The process that decides whether a container starts again which our runtime deletes: root's
     * podman command, unless it serves other commands, else the runtime itself.
     */
    private ProcessId deciding(ProcessId runtime) {
        return StartedProgram.ancestor(runtime, PODMAN)
                .filter(it -> it.user().uid() == 0 && !serves(it.arguments()))
                .flatMap(it -> evidence.process(it.pid()))
                .orElse(runtime);
    }

    private static boolean serves(List<String> podman) {
        return Collections.indexOfSubList(podman, SERVICE) >= 0;
    }

    /** Removes the files that were made for containers that have ended. */
    public void tidy() throws IOException {
        // Before the leases: one of a container that is just being created has its lease already.
        List<String> known = List.copyOf(directories);
        Set<String> live = new HashSet<>();
        live().forEach(lease -> live.add(lease.claim().id()));
        List<String> over = known.stream().filter(claim -> !live.contains(claim)).toList();
        Set<String> mounted = over.isEmpty() ? Set.of() : remover.mounted().keySet();
        for (String claim : over) {
            if (!mounted.contains(claim)) {
                files.delete(claim);
                directories.remove(claim);
            }
        }
        directories.addAll(live);
        edited.ifPresent(EditedContainers::tidy);
    }

    @Override
    public void close() {
        closed = true;
    }
}
