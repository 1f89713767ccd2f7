package jnvdocker.process;

import jnvdocker.posix.Errno;
import jnvdocker.posix.FileStatus;
import jnvdocker.posix.LinkDirectory;
import jnvdocker.posix.Posix;
import jnvdocker.posix.PosixException;
import jnvdocker.posix.ProcessId;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BooleanSupplier;
import java.util.regex.Pattern;

/**
 * Finds the processes that have devices open, by all their descriptors. Any user may have hundreds
 * of thousands: beyond {@link DescriptorLimits} they are scanned repeatedly in the background, and
 * meanwhile the last result counts.
 */
final class DeviceScan {
    private static final Logger LOG = LoggerFactory.getLogger(DeviceScan.class);
    private static final Pattern NODE_NAME =
            Pattern.compile(".*/nvidia(-cap)?[0-9]+( \\(deleted\\))?");
    private static final Set<String> OTHER_NODES =
            Set.of("/dev/null", "/dev/zero", "/dev/urandom", "/dev/random", "/dev/tty");
    private static final Comparator<ProcessId> BY_AGE =
            Comparator.comparingLong(ProcessId::startTime).thenComparingInt(ProcessId::pid);

    /**
     * The number of descriptors after which the background scan pauses, nine times as long as they
     * took.
     */
    private static final int PIECE = 4096;

    private static final int REST = 9;
    private static final int LINKS_OF_ONE_THREAD = 3;
    private static final long BETWEEN_PASSES_MILLIS = 5000;

    private final ProcDirectory processes;
    private final Path proc;
    private final DescriptorLimits limits;
    private final AtomicLong read = new AtomicLong();
    private final Map<Integer, Many> many = new ConcurrentHashMap<>();
    private final AtomicBoolean inBackground = new AtomicBoolean();

    /**
     * A process with more descriptors than are checked while a caller waits.
     *
     * @param found the devices that it has open; empty until it has been scanned
     */
    private record Many(ProcessId process, Optional<DeviceUser> found) {}

    /** The majors of the searched devices. */
    record Majors(int gpus, int graphics) {
        private static final int NONE = -1;

        /** Devices of one major alone. */
        Majors(int gpus) {
            this(gpus, NONE);
        }
    }

    /** The minors of the searched devices that one process has open, as they are found. */
    private static final class Found {
        private final Majors majors;
        private final SortedSet<Integer> minors = new TreeSet<>();
        private final SortedSet<Integer> graphics = new TreeSet<>();

        Found(Majors majors) {
            this.majors = majors;
        }

        /** Counts the device that a descriptor leads to. */
        void add(Path descriptor) {
            try {
                long device = FileStatus.of(descriptor).characterDevice();
                if (device != 0 && Posix.major(device) == majors.gpus()) {
                    minors.add(Posix.minor(device));
                } else if (device != 0 && Posix.major(device) == majors.graphics()) {
                    graphics.add(Posix.minor(device));
                }
            } catch (IOException e) {
                // Closed in between.
            }
        }

        void add(DeviceUser before) {
            minors.addAll(before.minors());
            graphics.addAll(before.graphics());
        }

        boolean isEmpty() {
            return minors.isEmpty() && graphics.isEmpty();
        }

        DeviceUser of(ProcessId process) {
            return new DeviceUser(process, minors, graphics);
        }
    }

    DeviceScan(ProcDirectory processes, Path proc, DescriptorLimits limits) {
        this.processes = processes;
        this.proc = proc;
        this.limits = limits;
    }

    /** Returns how many descriptors all calls of {@code users} have checked. */
    long descriptorsRead() {
        return read.get();
    }

    OpenDevices users(Majors majors) {
        String us = String.valueOf(ProcessHandle.current().pid());
        DescriptorLimits.Budget budget = limits.budget();
        List<OpenDevices.Partial> beyond = Collections.synchronizedList(new ArrayList<>());
        // Thousands of descriptors, each a system call: uses all cores.
        List<DeviceUser> users =
                processes.pids().parallelStream()
                        .filter(pid -> !pid.equals(us))
                        .flatMap(pid -> user(pid, majors, budget, beyond).stream())
                        .sorted(Comparator.comparing(DeviceUser::process, BY_AGE))
                        .toList();
        if (!many.isEmpty()) {
            goOnInBackground(majors);
        }
        return new OpenDevices(users, beyond);
    }

    /**
     * Returns the minors that a process has open; empty when it has too many descriptors to check.
     */
    Optional<SortedSet<Integer>> openBy(int pid, int major) {
        Found found = new Found(new Majors(major));
        AtomicInteger left = new AtomicInteger(limits.process());
        boolean complete = scan(String.valueOf(pid), found, () -> left.getAndDecrement() > 0);
        return complete ? Optional.of(found.minors) : Optional.empty();
    }

    private Optional<DeviceUser> user(
            String pid,
            Majors majors,
            DescriptorLimits.Budget budget,
            List<OpenDevices.Partial> beyond) {
        Many before = known(Integer.parseInt(pid));
        boolean isKnown = before != null && before.found().isPresent();
        Account account = new Account(pid, budget, isKnown ? limits.process() : Integer.MAX_VALUE);
        Found found = new Found(majors);
        boolean complete = scan(pid, found, account);
        read.addAndGet(account.count);
        if (complete && account.count <= limits.process()) {
            if (before != null) {
                many.remove(before.process().pid(), before);
            }
            return found.isEmpty()
                    ? Optional.empty()
                    : processes.find(Integer.parseInt(pid)).map(found::of);
        }
        Optional<ProcessId> process = processes.find(Integer.parseInt(pid));
        if (process.isEmpty()) {
            return Optional.empty();
        }
        if (complete) {
            Optional<DeviceUser> all = Optional.of(found.of(process.get()));
            many.put(process.get().pid(), new Many(process.get(), all));
        } else {
            Many now = before == null ? new Many(process.get(), Optional.empty()) : before;
            many.putIfAbsent(process.get().pid(), now);
            now.found().ifPresent(found::add);
            beyond.add(
                    new OpenDevices.Partial(
                            process.get(), account.credentials(), now.found().isEmpty()));
        }
        return found.isEmpty() ? Optional.empty() : Optional.of(found.of(process.get()));
    }

    /** Returns the known entry of a process, if it is still the same process. */
    private Many known(int pid) {
        Many known = many.get(pid);
        if (known != null && !processes.isAlive(known.process())) {
            many.remove(pid, known);
            return null;
        }
        return known;
    }

    /** Counts and limits the descriptors that are checked of one process. */
    private final class Account implements BooleanSupplier {
        private final String pid;
        private final DescriptorLimits.Budget budget;
        private final int most;
        private Optional<Credentials> credentials = Optional.empty();
        private int count;

        Account(String pid, DescriptorLimits.Budget budget, int most) {
            this.pid = pid;
            this.budget = budget;
            this.most = most;
        }

        @Override
        public boolean getAsBoolean() {
            if (count >= most
                    || count >= DescriptorLimits.UNMETERED && !budget.take(credentials().uid())) {
                return false;
            }
            count++;
            return true;
        }

        Credentials credentials() {
            if (credentials.isEmpty()) {
                credentials = Optional.of(processes.credentials(Integer.parseInt(pid)));
            }
            return credentials.get();
        }
    }

    /**
     * Adds the devices that a process has open.
     *
     * @param mayGoOn called before each descriptor; false ends the scan
     * @return whether all descriptors were checked
     */
    private boolean scan(String pid, Found found, BooleanSupplier mayGoOn) {
        Path process = proc.resolve(pid);
        Entries entries = scan(process, found, mayGoOn);
        return switch (entries) {
            case SOME -> true;
            case TOO_MANY -> false;
            case NONE ->
                    !mayHaveThreads(process)
                            || !hasLostItsFirstThread(pid)
                            || scanThreads(process, found, mayGoOn);
        };
    }

    private enum Entries {
        NONE,
        SOME,
        TOO_MANY
    }

    private Entries scan(Path process, Found found, BooleanSupplier mayGoOn) {
        Path directory = process.resolve("fd");
        Entries entries = Entries.NONE;
        try (LinkDirectory descriptors = LinkDirectory.open(directory)) {
            while (descriptors.next()) {
                if (!mayGoOn.getAsBoolean()) {
                    return Entries.TOO_MANY;
                }
                entries = Entries.SOME;
                if (mayBeNode(descriptors.path())) {
                    found.add(directory.resolve(descriptors.name()));
                }
            }
        } catch (PosixException e) {
            switch (e.errno()) {
                case Errno.ENOENT, Errno.ESRCH, Errno.EACCES, Errno.EPERM -> {
                    // It has gone, or is shielded from us: some processes are even from root.
                }
                default -> throw new UncheckedIOException(e);
            }
        }
        return entries;
    }

    /**
     * Whether there is more than one thread, by the kernel's count of the directory's links: one
     * for each thread, and two more. Most processes with nothing open are the kernel's own threads,
     * a thousand on a large host, with one thread each; reading their state takes ten times as
     * long.
     */
    private static boolean mayHaveThreads(Path process) {
        try {
            int links = (int) Files.getAttribute(process.resolve("task"), "unix:nlink");
            return links != LINKS_OF_ONE_THREAD;
        } catch (IOException e) {
            // Gone, or a file system without such a count: the process's state decides.
            return true;
        }
    }

    /**
     * Whether the first thread has ended while others run: a process shows only the descriptors of
     * its first thread.
     */
    private boolean hasLostItsFirstThread(String pid) {
        return processes.stat(Integer.parseInt(pid)).filter(ProcessStat::hasDeadLeader).isPresent();
    }

    private boolean scanThreads(Path process, Found found, BooleanSupplier mayGoOn) {
        try (DirectoryStream<Path> threads = Files.newDirectoryStream(process.resolve("task"))) {
            for (Path thread : threads) {
                if (scan(thread, found, mayGoOn) == Entries.TOO_MANY) {
                    return false;
                }
            }
        } catch (DirectoryIteratorException | IOException e) {
            // It has gone.
        }
        return true;
    }

    private static boolean mayBeNode(String file) {
        boolean inDev =
                file.startsWith("/dev/")
                        && !OTHER_NODES.contains(file)
                        && !file.startsWith("/dev/pts/");
        return inDev || file.contains("/nvidia") && NODE_NAME.matcher(file).matches();
    }

    /** Runs as long as there are such processes, on one thread at a time. */
    private void goOnInBackground(Majors majors) {
        if (inBackground.compareAndSet(false, true)) {
            Thread.ofPlatform().daemon().name("descriptors").start(() -> passes(majors));
        }
    }

    private void passes(Majors majors) {
        try {
            while (!many.isEmpty()) {
                pass(majors, PIECE);
                Thread.sleep(BETWEEN_PASSES_MILLIS);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } catch (UncheckedIOException e) {
            LOG.warn("cannot read the descriptors of processes: {}", e.getMessage());
        } finally {
            inBackground.set(false);
        }
    }

    /** Scans all of these processes once, resting after each piece. */
    void pass(Majors majors, int piece) {
        for (Many one : List.copyOf(many.values())) {
            int pid = one.process().pid();
            Found found = new Found(majors);
            scan(String.valueOf(pid), found, new Pieces(piece));
            // The result may be that of a later process.
            if (processes.isAlive(one.process())) {
                Optional<DeviceUser> all = Optional.of(found.of(one.process()));
                many.replace(pid, one, new Many(one.process(), all));
            } else {
                many.remove(pid, one);
            }
        }
    }

    /** Never says no, but rests after each piece. */
    private static final class Pieces implements BooleanSupplier {
        private final int piece;
        private int count;
        private long began = System.nanoTime();

        Pieces(int piece) {
            this.piece = piece;
        }

        @Override
        public boolean getAsBoolean() {
            if (++count % piece == 0) {
                rest();
            }
            return true;
        }

        private void rest() {
            try {
                Thread.sleep(Math.max(1, (System.nanoTime() - began) * REST / 1_000_000));
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
            began = System.nanoTime();
        }
    }
}
