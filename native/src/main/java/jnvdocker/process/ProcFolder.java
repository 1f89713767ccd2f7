package jnvdocker.process;

import jnvdocker.posix.Posix;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.AccessDeniedException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.BinaryOperator;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The processes that a proc file system shows (see proc(5)). */
final class ProcFolder implements Processes {
    private static final String SELF = "self";
    private static final Pattern PID = Pattern.compile("[1-9][0-9]{0,8}");
    private static final Pattern PENDING =
            Pattern.compile("^(?:SigPnd|ShdPnd):\\s*([0-9a-f]{1,16})$", Pattern.MULTILINE);
    private static final Pattern UID = Pattern.compile("^Uid:\\s*([0-9]+)", Pattern.MULTILINE);

    /** Docker's ids; a cgroup is called {@code /docker/<id>} or {@code docker-<id>.scope}. */
    private static final Pattern CONTAINER =
            Pattern.compile("(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])");

    private static final Pattern NODE_NAME = Pattern.compile(".*/nvidia[0-9]+( \\(deleted\\))?");
    private static final Set<String> OTHER_NODES =
            Set.of("/dev/null", "/dev/zero", "/dev/urandom", "/dev/random", "/dev/tty");
    private static final int S_IFMT = 0xf000;
    private static final int S_IFCHR = 0x2000;
    private static final long SIGKILL = 1L << (9 - 1);
    private static final Comparator<ProcessId> BY_AGE =
            Comparator.comparingLong(ProcessId::startTime).thenComparingInt(ProcessId::pid);

    /**
     * The login uid of a process that nobody logged in for, as the kernel writes it: 4294967295.
     */
    private static final int UNSET = -1;

    private final Path proc;

    ProcFolder(Path proc) {
        this.proc = proc;
    }

    @Override
    public Optional<ProcessId> find(int pid) {
        return read(pid, "stat")
                .map(ProcessStat::parse)
                .filter(stat -> !stat.isDead())
                .map(stat -> new ProcessId(pid, stat.startTime()));
    }

    @Override
    public boolean isKilled(ProcessId process) {
        return read(process.pid(), "status").filter(ProcFolder::hasPendingKill).isPresent()
                && isAlive(process);
    }

    /** Signals that have been sent to one thread or to all, as a mask (see proc_pid_status(5)). */
    private static boolean hasPendingKill(String status) {
        return PENDING.matcher(status)
                .results()
                .mapToLong(match -> Long.parseUnsignedLong(match.group(1), 16))
                .anyMatch(mask -> (mask & SIGKILL) != 0);
    }

    @Override
    public Optional<String> cgroup(ProcessId process, String containerId) {
        return read(process.pid(), "cgroup")
                .flatMap(cgroups -> hierarchy().flatMap(it -> it.folder(cgroups, containerId)))
                // What was read may have been a later process's.
                .filter(_ -> isAlive(process));
    }

    @Override
    public Optional<String> cgroupOf(ProcessId process, String controller) {
        return read(process.pid(), "cgroup")
                .flatMap(cgroups -> hierarchy(controller).flatMap(it -> it.folder(cgroups)))
                .filter(_ -> isAlive(process));
    }

    @Override
    public boolean hasProcesses(String cgroup) {
        try {
            return new CgroupFolder(Path.of(cgroup)).hasProcesses();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Override
    public Map<String, ProcessId> oldestWithMount(Pattern root) {
        Map<String, ProcessId> oldest = new TreeMap<>();
        for (var namespace : otherNamespaces().entrySet()) {
            for (ProcessId process : namespace.getValue()) {
                var mounts = mounts(process, namespace.getKey());
                if (mounts.isPresent()) {
                    for (String key : keys(mounts.get(), root)) {
                        oldest.merge(key, process, BinaryOperator.minBy(BY_AGE));
                    }
                    // The others of this namespace have the same mounts, and are younger.
                    break;
                }
            }
        }
        return oldest;
    }

    @Override
    public Set<String> mounted(ProcessId process, Pattern root) {
        try {
            return Set.copyOf(keys(mounts(String.valueOf(process.pid())), root));
        } catch (IOException e) {
            return this.<Set<String>>emptyIfGone(String.valueOf(process.pid()), e).orElse(Set.of());
        }
    }

    @Override
    public List<DeviceUser> usersOf(int major) {
        String us = String.valueOf(ProcessHandle.current().pid());
        // Thousands of descriptors, each a question to the kernel: on all cores.
        return pids().parallelStream()
                .filter(pid -> !pid.equals(us))
                .flatMap(pid -> user(pid, major).stream())
                .sorted(Comparator.comparing(DeviceUser::process, BY_AGE))
                .toList();
    }

    @Override
    public List<AllowedDevices> allowed(int major) {
        List<AllowedDevices> found = new ArrayList<>();
        hierarchy("devices")
                .map(hierarchy -> new CgroupFolder(Path.of(hierarchy.mount().point())))
                .ifPresent(folder -> addAllowed(folder, major, found));
        return found;
    }

    private void addAllowed(CgroupFolder folder, int major, List<AllowedDevices> found) {
        try {
            SortedSet<Integer> minors = folder.allowedMinors(major);
            if (minors.isEmpty()) {
                folder.below().forEach(inner -> addAllowed(inner, major, found));
                return;
            }
            folder.pids().stream()
                    .flatMap(pid -> find(pid).stream())
                    .min(BY_AGE)
                    .ifPresent(oldest ->
                            found.add(
                                    new AllowedDevices(folder.path().toString(), minors, oldest)));
        } catch (IOException e) {
            // Its files fail in several ways when it is removed meanwhile.
            if (Files.exists(folder.path())) {
                throw new UncheckedIOException(e);
            }
        }
    }

    private Optional<DeviceUser> user(String pid, int major) {
        SortedSet<Integer> minors = new TreeSet<>();
        try (DirectoryStream<Path> descriptors =
                Files.newDirectoryStream(proc.resolve(pid).resolve("fd"))) {
            for (Path descriptor : descriptors) {
                minor(descriptor, major).ifPresent(minors::add);
            }
        } catch (DirectoryIteratorException | IOException e) {
            // It has gone, or is shielded from us: some are even from root.
        }
        return minors.isEmpty()
                ? Optional.empty()
                : find(Integer.parseInt(pid)).map(process -> new DeviceUser(process, minors));
    }

    /** The minor of the device of that major that a descriptor leads to. */
    private static OptionalInt minor(Path descriptor, int major) {
        try {
            if (!mayBeNode(Files.readSymbolicLink(descriptor).toString())) {
                return OptionalInt.empty();
            }
            Map<String, Object> status = Files.readAttributes(descriptor, "unix:mode,rdev");
            boolean character = ((int) status.get("mode") & S_IFMT) == S_IFCHR;
            long device = (long) status.get("rdev");
            return character && Posix.major(device) == major
                    ? OptionalInt.of(Posix.minor(device))
                    : OptionalInt.empty();
        } catch (IOException e) {
            // Closed in between.
            return OptionalInt.empty();
        }
    }

    private static boolean mayBeNode(String file) {
        boolean inDev =
                file.startsWith("/dev/")
                        && !OTHER_NODES.contains(file)
                        && !file.startsWith("/dev/pts/");
        return inDev || file.contains("/nvidia") && NODE_NAME.matcher(file).matches();
    }

    @Override
    public Optional<ProcessTraits> traits(ProcessId process) {
        Optional<String> status = read(process.pid(), "status");
        Optional<String> name = read(process.pid(), "comm");
        Optional<String> cgroup = read(process.pid(), "cgroup");
        if (status.isEmpty() || name.isEmpty() || cgroup.isEmpty() || !isAlive(process)) {
            return Optional.empty();
        }
        Optional<String> container =
                CONTAINER.matcher(cgroup.get()).results().map(MatchResult::group).findFirst();
        // What starts containers was itself started from somebody's session, perhaps.
        OptionalInt login = container.isPresent() ? OptionalInt.empty() : loginUid(process.pid());
        return Optional.of(
                new ProcessTraits(
                        name.get().stripTrailing(),
                        program(process),
                        login.orElseGet(() -> uid(status.get())),
                        container));
    }

    private static int uid(String status) {
        Matcher uid = UID.matcher(status);
        return uid.find() ? Integer.parseUnsignedInt(uid.group(1)) : UNSET;
    }

    private String program(ProcessId process) {
        try {
            Path link = proc.resolve(String.valueOf(process.pid())).resolve("exe");
            Path name = Files.readSymbolicLink(link).getFileName();
            return name == null ? "" : name.toString().replaceFirst(" \\(deleted\\)$", "");
        } catch (IOException e) {
            return "";
        }
    }

    @Override
    public Optional<String> mountRoot(Path folder) {
        try {
            Path real = folder.toRealPath();
            return mounts(SELF)
                    .holding(real)
                    .map(mount ->
                            Path.of(mount.root())
                                    .resolve(Path.of(mount.point()).relativize(real))
                                    .toString());
        } catch (IOException e) {
            return Optional.empty();
        }
    }

    @Override
    public OptionalInt loginUid(int pid) {
        try {
            int uid = Integer.parseUnsignedInt(text(pid + "/loginuid").strip());
            return uid == UNSET ? OptionalInt.empty() : OptionalInt.of(uid);
        } catch (IOException | NumberFormatException e) {
            return OptionalInt.empty();
        }
    }

    private Optional<CgroupHierarchy> hierarchy() {
        try {
            return CgroupHierarchy.among(mounts(SELF));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private Optional<CgroupHierarchy> hierarchy(String controller) {
        try {
            return CgroupHierarchy.of(controller, mounts(SELF));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** The processes of each mount namespace but ours, the oldest first. */
    private Map<String, List<ProcessId>> otherNamespaces() {
        Map<String, List<ProcessId>> namespaces = new HashMap<>();
        Optional<String> ours = namespace(SELF);
        for (String pid : pids()) {
            Optional<String> namespace = namespace(pid);
            if (namespace.isPresent() && !namespace.equals(ours)) {
                find(Integer.parseInt(pid))
                        .ifPresent(process ->
                                namespaces
                                        .computeIfAbsent(namespace.get(), _ -> new ArrayList<>())
                                        .add(process));
            }
        }
        namespaces.values().forEach(processes -> processes.sort(BY_AGE));
        return namespaces;
    }

    private List<String> pids() {
        List<String> pids = new ArrayList<>();
        try (DirectoryStream<Path> entries = Files.newDirectoryStream(proc)) {
            for (Path entry : entries) {
                String name = entry.getFileName().toString();
                if (PID.matcher(name).matches()) {
                    pids.add(name);
                }
            }
            return pids;
        } catch (DirectoryIteratorException e) {
            throw new UncheckedIOException(e.getCause());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /**
     * Which mount namespace a process is in. Empty when it has gone, has left it to end, or is
     * shielded from us: some are even from root, and no container's is.
     */
    private Optional<String> namespace(String pid) {
        try {
            Path link = proc.resolve(pid).resolve("ns/mnt");
            return Optional.of(Files.readSymbolicLink(link).toString());
        } catch (NoSuchFileException | AccessDeniedException e) {
            return Optional.empty();
        } catch (IOException e) {
            return emptyIfGone(pid, e);
        }
    }

    /** The mounts of a process; empty unless it was in that namespace until they were read. */
    private Optional<MountTable> mounts(ProcessId process, String namespace) {
        try {
            MountTable mounts = mounts(String.valueOf(process.pid()));
            return isIn(process, namespace) ? Optional.of(mounts) : Optional.empty();
        } catch (IOException e) {
            if (isIn(process, namespace)) {
                throw new UncheckedIOException(e);
            }
            return Optional.empty();
        }
    }

    private boolean isIn(ProcessId process, String namespace) {
        return namespace(String.valueOf(process.pid())).equals(Optional.of(namespace))
                && isAlive(process);
    }

    private static List<String> keys(MountTable table, Pattern root) {
        return table.mounts().stream()
                .map(mount -> root.matcher(mount.root()))
                .filter(Matcher::matches)
                .map(matcher -> matcher.group(1))
                .toList();
    }

    private Optional<String> read(int pid, String file) {
        try {
            return Optional.of(text(pid + "/" + file));
        } catch (IOException e) {
            return emptyIfGone(String.valueOf(pid), e);
        }
    }

    /** The files of a process fail in several ways when it ends meanwhile. */
    private <T> Optional<T> emptyIfGone(String pid, IOException e) {
        if (Files.notExists(proc.resolve(pid))) {
            return Optional.empty();
        }
        throw new UncheckedIOException(e);
    }

    private MountTable mounts(String pid) throws IOException {
        return MountTable.parse(text(pid + "/mountinfo"));
    }

    private String text(String path) throws IOException {
        Path file = proc.resolve(path);
        try {
            return new String(Files.readAllBytes(file), StandardCharsets.UTF_8);
        } catch (FileSystemException e) {
            throw e;
        } catch (IOException e) {
            // What fails after the opening does not say on which file.
            throw new FileSystemException(file.toString(), null, e.getMessage());
        }
    }
}
