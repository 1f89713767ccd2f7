package jnvdocker.process;

import jnr.posix.Group;

import jnvdocker.posix.ProcessId;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.SortedSet;
import java.util.function.Predicate;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The processes that a proc file system shows (see proc(5)). */
final class ProcDirectory implements Processes {
    private static final String SELF = "self";
    private static final Pattern PID = Pattern.compile("[1-9][0-9]{0,8}");
    private static final Pattern PENDING =
            Pattern.compile("^(?:SigPnd|ShdPnd):\\s*([0-9a-f]{1,16})$", Pattern.MULTILINE);

    /** Docker's ids; a cgroup is called {@code /docker/<id>} or {@code docker-<id>.scope}. */
    static final Pattern CONTAINER = Pattern.compile("(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])");

    private static final Pattern BOUNDING = Pattern.compile("(?m)^CapBnd:.*$");

    private static final Pattern EFFECTIVE_UID =
            Pattern.compile("^Uid:\\s*[0-9]+\\s+([0-9]+)", Pattern.MULTILINE);

    private static final long SIGKILL = 1L << (9 - 1);
    private static final Comparator<ProcessId> BY_AGE =
            Comparator.comparingLong(ProcessId::startTime).thenComparingInt(ProcessId::pid);

    /**
     * The login uid of a process that does not come from a login, as the kernel writes it:
     * 4294967295.
     */
    private static final int UNSET = -1;

    /** How many of its ancestors may say which container a process is in. */
    private static final int ANCESTORS = 64;

    private static final String MONITOR = "conmon";

    private final Path proc;
    private final NamespaceScan mountScan;
    private final DeviceScan deviceScan;

    ProcDirectory(Path proc) {
        this(proc, NamespaceScan.Owners.REAL, MountScan.Limits.USUAL, DescriptorLimits.USUAL);
    }

    ProcDirectory(
            Path proc,
            NamespaceScan.Owners owners,
            MountScan.Limits mounts,
            DescriptorLimits descriptors) {
        this.proc = proc;
        mountScan = new NamespaceScan(this, proc, owners, mounts);
        deviceScan = new DeviceScan(this, proc, descriptors);
    }

    /** Returns the part that scans for mounts. */
    NamespaceScan mountScan() {
        return mountScan;
    }

    /** Returns the part that scans for open devices. */
    DeviceScan deviceScan() {
        return deviceScan;
    }

    @Override
    public Optional<ProcessId> find(int pid) {
        return stat(pid)
                .filter(stat -> !stat.isDead())
                .map(stat -> new ProcessId(pid, stat.startTime()));
    }

    Optional<ProcessStat> stat(int pid) {
        return read(pid, "stat").map(ProcessStat::parse);
    }

    @Override
    public boolean isKilled(ProcessId process) {
        return read(process.pid(), "status").filter(ProcDirectory::hasPendingKill).isPresent()
                && isAlive(process);
    }

    @Override
    public boolean isFrozen(ProcessId process) {
        Optional<String> directory = cgroupOf(process, "freezer");
        try {
            return directory.isPresent()
                    && !text(directory.get() + "/freezer.state").strip().equals("THAWED");
        } catch (IOException e) {
            return false; // as in the first cgroup, which has no such file
        }
    }

    @Override
    public boolean isPaused(ProcessId process, Optional<String> cgroup) {
        return cgroup.map(Path::of)
                        .map(CgroupDirectory::new)
                        .filter(CgroupDirectory::isFrozen)
                        .isPresent()
                || isFrozen(process);
    }

    @Override
    public boolean isStopped(ProcessId process) {
        return read(process.pid(), "stat")
                .map(ProcessStat::parse)
                .filter(stat -> stat.startTime() == process.startTime())
                .filter(ProcessStat::isStopped)
                .isPresent();
    }

    /**
     * Reads the signals that were sent to one thread or to all, as a mask (see proc_pid_status(5)).
     */
    private static boolean hasPendingKill(String status) {
        return PENDING.matcher(status)
                .results()
                .mapToLong(match -> Long.parseUnsignedLong(match.group(1), 16))
                .anyMatch(mask -> (mask & SIGKILL) != 0);
    }

    @Override
    public Optional<String> cgroup(ProcessId process, String containerId) {
        return read(process.pid(), "cgroup")
                .flatMap(cgroups -> hierarchy().flatMap(it -> it.directory(cgroups, containerId)))
                // The result may be that of a later process.
                .filter(_ -> isAlive(process));
    }

    @Override
    public Optional<String> cgroupOf(ProcessId process, String controller) {
        return read(process.pid(), "cgroup")
                .flatMap(cgroups -> hierarchy(controller).flatMap(it -> it.directory(cgroups)))
                .filter(_ -> isAlive(process));
    }

    @Override
    public boolean hasProcesses(String cgroup) {
        try {
            return new CgroupDirectory(Path.of(cgroup)).hasProcesses();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Override
    public Optional<ProcessId> oldest(String cgroup) {
        try {
            return oldest(new CgroupDirectory(Path.of(cgroup)));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private Optional<ProcessId> oldest(CgroupDirectory directory) throws IOException {
        return directory.pids().stream().flatMap(pid -> find(pid).stream()).min(BY_AGE);
    }

    @Override
    public boolean arePrivileged(String cgroup) {
        try {
            for (CgroupDirectory container : new CgroupDirectory(Path.of(cgroup)).below()) {
                Optional<Integer> first = container.pids().stream().findFirst();
                if (first.filter(this::mayDoAll).isPresent() && container.allowsAllDevices()) {
                    return true;
                }
            }
            return false;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private boolean mayDoAll(Integer pid) {
        Optional<String> all = capabilities(1);
        return all.isPresent()
                && all.equals(capabilities(pid))
                && !namespace(1).equals(namespace(pid));
    }

    private Optional<String> capabilities(int pid) {
        return read(pid, "status").map(BOUNDING::matcher).filter(Matcher::find).map(Matcher::group);
    }

    private Optional<Path> namespace(int pid) {
        try {
            return Optional.of(Files.readSymbolicLink(proc.resolve(pid + "/ns/mnt")));
        } catch (IOException e) {
            return Optional.empty();
        }
    }

    @Override
    public boolean isAlone(ProcessId process, String cgroup) {
        try {
            return isAlive(process)
                    && new CgroupDirectory(Path.of(cgroup)).pids().equals(List.of(process.pid()));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Override
    public SeenMounts mounts(Predicate<String> root) {
        return mountScan.everywhere(root);
    }

    @Override
    public Set<MountedDirectory> mounts(ProcessId process, Predicate<String> root) {
        return mountScan.of(process, root);
    }

    @Override
    public OpenDevices usersOf(int major, int graphics) {
        return deviceScan.users(new DeviceScan.Majors(major, graphics));
    }

    @Override
    public Optional<SortedSet<Integer>> openBy(ProcessId process, int major) {
        return deviceScan.openBy(process.pid(), major);
    }

    @Override
    public List<AllowedDevices> allowed(int major) {
        List<AllowedDevices> found = new ArrayList<>();
        hierarchy("devices")
                .map(hierarchy -> new CgroupDirectory(Path.of(hierarchy.mount().point())))
                .ifPresent(directory -> addAllowed(directory, major, found));
        return found;
    }

    @Override
    public Map<String, Group> groups(Pattern name) {
        NamedGroups groups = new NamedGroups(name, this::oldest);
        add(hierarchy().stream().toList(), groups);
        return groups.found();
    }

    @Override
    public Set<String> groupNames(Pattern name) {
        NamedGroups groups = new NamedGroups(name, _ -> Optional.empty());
        try {
            add(CgroupHierarchy.all(mounts(SELF)), groups);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return groups.names();
    }

    private static void add(List<CgroupHierarchy> hierarchies, NamedGroups groups) {
        try {
            for (CgroupHierarchy hierarchy : hierarchies) {
                groups.add(new CgroupDirectory(Path.of(hierarchy.mount().point())));
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private void addAllowed(CgroupDirectory directory, int major, List<AllowedDevices> found) {
        try {
            SortedSet<Integer> minors = directory.allowedMinors(major);
            if (minors.isEmpty()) {
                directory.below().forEach(inner -> addAllowed(inner, major, found));
                return;
            }
            oldest(directory)
                    .ifPresent(oldest ->
                            found.add(
                                    new AllowedDevices(
                                            directory.path().toString(), minors, oldest)));
        } catch (IOException e) {
            // Reads of its files fail in several ways if it is removed meanwhile.
            if (Files.exists(directory.path())) {
                throw new UncheckedIOException(e);
            }
        }
    }

    @Override
    public boolean isMonitored(String container) {
        return pids().stream()
                .map(Integer::parseInt)
                .filter(pid ->
                        read(pid, "comm").filter(it -> it.strip().equals(MONITOR)).isPresent())
                .filter(pid -> credentials(pid).uid() == 0)
                .flatMap(pid -> read(pid, "cmdline").stream())
                .anyMatch(words -> List.of(words.split("\0")).contains(container));
    }

    @Override
    public Optional<ProcessTraits> traits(ProcessId process) {
        Optional<String> status = read(process.pid(), "status");
        Optional<String> name = read(process.pid(), "comm");
        Optional<String> cgroup = read(process.pid(), "cgroup");
        if (status.isEmpty() || name.isEmpty() || cgroup.isEmpty() || !isAlive(process)) {
            return Optional.empty();
        }
        Optional<String> container = container(cgroup.get());
        int uid = Credentials.parse(status.get()).uid();
        Optional<OtherContainer> other =
                OtherContainer.in(cgroup.get()).or(() -> ofAncestors(process.pid()));
        // Other users' processes may have written their login uid themselves. The program that
        // starts containers may itself come from a user's session.
        boolean isTold = uid == 0 && container.isEmpty() && other.isEmpty();
        OptionalInt login = isTold ? loginUid(process.pid()) : OptionalInt.empty();
        return Optional.of(
                new ProcessTraits(
                        name.get().stripTrailing(),
                        program(process),
                        login.orElse(uid),
                        container,
                        other));
    }

    /** Reads nothing that a process can keep from being answered, as its command line. */
    private Optional<OtherContainer> ofAncestors(int process) {
        int pid = process;
        Optional<OtherContainer> found = Optional.empty();
        for (int i = 0; i < ANCESTORS && found.isEmpty() && pid > 1; i++) {
            int uid = credentials(pid).uid();
            found =
                    read(pid, "comm")
                            .flatMap(it -> OtherContainer.startedBy(it.strip(), uid, process));
            pid = stat(pid).map(ProcessStat::parent).orElse(0);
        }
        return found;
    }

    /**
     * Returns the container of a process by the name of its cgroup. A user who owns a part of the
     * hierarchy can give a cgroup any name: only root's names count.
     */
    private Optional<String> container(String cgroups) {
        Optional<String> named =
                CONTAINER.matcher(cgroups).results().map(MatchResult::group).findFirst();
        return named.filter(id ->
                hierarchy()
                        .flatMap(it -> it.directory(cgroups, id))
                        .filter(directory ->
                                new CgroupDirectory(Path.of(directory)).isNamedByRoot())
                        .isPresent());
    }

    Credentials credentials(int pid) {
        return read(pid, "status")
                .map(status -> Credentials.parse(status, knowsAllUsers(pid)))
                .orElse(Credentials.NONE);
    }

    /** False for a process in a user namespace (user_namespaces(7)). */
    private boolean knowsAllUsers(int pid) {
        return Files.notExists(proc.resolve(pid + "/uid_map"))
                || read(pid, "uid_map").filter(Credentials::areAllUsers).isPresent();
    }

    /** Returns the user whose rights a process has. */
    Optional<Integer> effectiveUser(int pid) {
        return read(pid, "status")
                .map(EFFECTIVE_UID::matcher)
                .filter(Matcher::find)
                .map(uid -> Integer.parseUnsignedInt(uid.group(1)));
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
    public Optional<MountedDirectory> spell(Path directory) {
        try {
            return mounts(SELF).spell(directory.toRealPath());
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

    List<String> pids() {
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

    private Optional<String> read(int pid, String file) {
        try {
            return Optional.of(text(pid + "/" + file));
        } catch (IOException e) {
            return emptyIfGone(String.valueOf(pid), e);
        }
    }

    /** Reads of a process's files fail in several ways if it ends meanwhile. */
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
            // A failure after the opening does not name the file.
            throw new FileSystemException(file.toString(), null, e.getMessage());
        }
    }
}
